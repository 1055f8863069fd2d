import { writeSync } from 'node:fs'

const BUFFER_LIMIT = 64 * 1024
const FLUSH_INTERVAL_MS = 500

/** C1 controls, line separators and bidi marks, which JSON does not escape. */
const CONTROLS = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/**
 * Writes lines to a file descriptor or a log file, buffered for up to 500 ms or 64 KiB: a system call per line would
 * cost more than the line. The buffer is flushed when the process exits. With a `format`, for a terminal, each line
 * is written at once.
 */
export function createLogOutput(
  target: number | { write: (bytes: Uint8Array) => void },
  format?: (line: string) => string,
): { write(line: string): void } {
  let lines: string[] = []
  let length = 0
  setInterval(flush, FLUSH_INTERVAL_MS).unref()
  process.on('exit', flush)
  return { write }

  function write(line: string) {
    const text = format ? format(line) : line
    lines.push(text)
    length += text.length
    if (format || length >= BUFFER_LIMIT) flush()
  }

  function flush() {
    if (length === 0) return
    const bytes = Buffer.from(lines.join(''))
    lines = []
    length = 0
    try {
      if (typeof target !== 'number') target.write(bytes)
      else for (let at = 0; at < bytes.length; ) at += writeSync(target, bytes, at)
    } catch {
      // The reader of the log is gone: the server continues without a log.
    }
  }
}

/** Escapes, in JSON's form, characters that change how a terminal shows a log line. */
export function escapeControls(text: string): string {
  return text.replace(
    CONTROLS,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
