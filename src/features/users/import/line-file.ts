import { closeSync, openSync, rmSync, writeSync } from 'node:fs'

const BUFFERED_LINES = 500

/** A JSON Lines file that only its owner can read. It replaces an earlier file, or removes it if there are no lines. */
export function createLineFile(path: string) {
  let file: number | null = null
  let lines: string[] = []
  return { write, close, writtenPath: () => (file === null ? null : path) }

  function write(value: unknown) {
    lines.push(`${JSON.stringify(value)}\n`)
    if (lines.length >= BUFFERED_LINES) flush()
  }

  function flush() {
    if (lines.length === 0) return
    file ??= create()
    writeSync(file, lines.join(''))
    lines = []
  }

  /** Never follows a link, and never takes over the mode of an earlier file. */
  function create(): number {
    rmSync(path, { force: true })
    return openSync(path, 'wx', 0o600)
  }

  function close() {
    flush()
    if (file === null) rmSync(path, { force: true })
    else closeSync(file)
  }
}
