import { write as writeBytes } from 'node:fs'
import { promisify } from 'node:util'

const BUFFER_LIMIT = 64 * 1024
const FLUSH_INTERVAL_MS = 500
/** Lines beyond this are dropped while nothing reads the log. */
const MAX_WAITING = 1024 * 1024
/** How long a process that exits waits for the reader of its log. */
const EXIT_TIMEOUT_MS = 1_000
const RETRY_MS = 50

/** C1 controls, line separators and bidi marks, which JSON does not escape. */
const CONTROLS = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

const writeAsync = promisify(writeBytes)
const outputs: { drain: () => Promise<void> }[] = []
let droppedLines = 0

export function countDroppedLines(): number {
  return droppedLines
}

/** Writes what is buffered before the process exits. Gives up when nothing reads it. */
export async function drainLogs() {
  const drained = Promise.all(outputs.map(({ drain }) => drain()))
  await Promise.race([drained, Bun.sleep(EXIT_TIMEOUT_MS)])
}

/**
 * Buffers lines for up to 500 ms or 64 KiB, because each system call costs more than a line; with a `format`, for a
 * terminal, writes each immediately. A worker thread writes: a pipe that nothing reads would block this one.
 */
export function createLogOutput(
  target: number | { write: (bytes: Uint8Array) => void },
  format?: (line: string) => string,
): { write(line: string): void } {
  let lines: string[] = []
  let length = 0
  let missing = 0
  let writing: Promise<void> | null = null
  setInterval(flush, FLUSH_INTERVAL_MS).unref()
  outputs.push({ drain })
  return { write }

  function write(line: string) {
    const text = format ? format(line) : line
    if (length + text.length > MAX_WAITING) return drop(1)
    lines.push(text)
    length += text.length
    if (format || length >= BUFFER_LIMIT) flush()
  }

  function flush() {
    if (writing !== null || (length === 0 && missing === 0)) return
    const count = lines.length
    const reported = missing
    const bytes = Buffer.from(lines.join('') + (reported > 0 ? describeDropped(reported) : ''))
    lines = []
    length = 0
    missing = 0
    const failed = () => {
      missing += reported
      drop(count)
    }
    if (typeof target === 'number') {
      writing = writeAll(target, bytes)
        .catch(failed)
        .then(() => {
          writing = null
          if (format || length >= BUFFER_LIMIT) flush()
        })
      return
    }
    try {
      target.write(bytes)
    } catch {
      failed()
    }
  }

  async function drain() {
    flush()
    while (writing !== null) {
      await writing
      if (length > 0) flush()
    }
  }

  function drop(count: number) {
    droppedLines += count
    missing += count
  }

  function describeDropped(count: number): string {
    const time = new Date().toISOString()
    const line = `{"level":"warn","time":"${time}","msg":"${count} lines dropped from this log"}\n`
    return format ? format(line) : line
  }
}

/** Retries: a descriptor that another process has made non-blocking refuses bytes that it cannot accept immediately. */
async function writeAll(descriptor: number, bytes: Uint8Array) {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await writeAsync(descriptor, bytes, at).catch(async (error) => {
      if (error.code !== 'EAGAIN') throw error
      await Bun.sleep(RETRY_MS)
      return { bytesWritten: 0 }
    })
    at += bytesWritten
  }
}

/** Escapes, in JSON's form, characters that change how a terminal shows a log line. */
export function escapeControls(text: string): string {
  return text.replace(
    CONTROLS,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
