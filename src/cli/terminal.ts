import { writeSync } from 'node:fs'
import { CommandError, UsageError } from '../lib/command.ts'
import { AppError } from '../lib/errors.ts'

/** Asks for confirmation on a terminal; a script must pass `--yes`. */
export function confirmRisk(risk: string | null) {
  if (risk === null) return
  if (!process.stdin.isTTY) throw new UsageError(`${risk} Add --yes to continue.`)
  const answer = prompt(`${risk} Continue? [y/N]`)
  if (!/^y(es)?$/i.test(answer?.trim() ?? ''))
    throw new AppError('conflict', 'Nothing was changed.')
}

const INTERVAL_MS = 100

/** Shows the progress of a long operation on a terminal until it is disposed of; shows nothing otherwise. */
export function createProgress() {
  const stream = process.stderr
  let shownAt = 0
  return { show, [Symbol.dispose]: end }

  function show(step: string, done: number, total: number) {
    const now = performance.now()
    if (!stream.isTTY || (now - shownAt < INTERVAL_MS && done < total)) return
    shownAt = now
    const percent = total === 0 ? 100 : Math.floor((100 * Math.min(done, total)) / total)
    stream.write(`\r\x1b[K${step} ${percent} %`)
  }

  function end() {
    if (stream.isTTY) stream.write('\r\x1b[K')
  }
}

/** Prints what a command did: as JSON if `json` is set, otherwise as `text`. */
export function writeOutcome(json: unknown, outcome: unknown, text: string) {
  writeOutput(json ? JSON.stringify(outcome) : text)
}

/** Writes a line to the standard output. Throws if that fails, unless the reader has closed the pipe. */
export function writeOutput(line: string) {
  const bytes = Buffer.from(`${line}\n`)
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(process.stdout.fd, bytes, written)
    } catch (error) {
      const { code } = error as { code?: string }
      if (code === 'EPIPE') return
      // The reader of a pipe is slow.
      if (code === 'EAGAIN') Bun.sleepSync(5)
      else throw new CommandError(`The output cannot be written (${code}). Any changes were saved.`)
    }
  }
}
