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

/** Is told how far long work is. */
export type OnProgress = (step: string, done: number, total: number) => void

const INTERVAL = 100

/** Shows how far long work is, on a terminal; nothing elsewhere. */
export function createProgress(stream = process.stderr) {
  let shownAt = 0
  return { show, end }

  function show(what: string, done: number, total: number) {
    const now = performance.now()
    if (!stream.isTTY || (now - shownAt < INTERVAL && done < total)) return
    shownAt = now
    const percent = total === 0 ? 100 : Math.floor((100 * Math.min(done, total)) / total)
    stream.write(`\r\x1b[K${what} ${percent} %`)
  }

  function end() {
    if (stream.isTTY) stream.write('\r\x1b[K')
  }
}
