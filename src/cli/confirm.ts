import { UsageError } from '../lib/command.ts'
import { AppError } from '../lib/errors.ts'

/** Asks whoever sits at the terminal; a script must have said `--yes`. */
export function confirmRisk(risk: string | null) {
  if (risk === null) return
  if (!process.stdin.isTTY) throw new UsageError(`${risk} Add --yes to do it.`)
  const answer = prompt(`${risk} Go on? [y/N]`)
  if (!/^y(es)?$/i.test(answer?.trim() ?? ''))
    throw new AppError('conflict', 'Nothing was changed.')
}
