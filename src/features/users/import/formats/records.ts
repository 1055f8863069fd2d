import { tryTo } from '../../../../lib/errors.ts'
/** A record of a file: the number of its first line, and its text; null if it is too long or not UTF-8. */
export type FoundRecord = { line: number; text: string | null }

/** A file that ends too early or continues after its end. */
export class DamagedFile extends Error {
  readonly line: number

  constructor(line: number) {
    super(`damaged at line ${line}`)
    this.line = line
  }
}

type Mark = 'start' | 'end' | 'damage' | null
type Scanner = {
  /** Called with each byte of a file. Returns whether it is the first or the last byte of a record. */
  scan: (byte: number) => Mark
  /** Whether the file may end now. */
  isComplete: () => boolean
}

const MAX_RECORD_BYTES = 1024 * 1024
const NEWLINE = 10
const QUOTE = 34
const BACKSLASH = 92
const OPENING = new Set([91, 123])
const CLOSING = new Set([93, 125])
const OPENING_BRACE = 123
const SPACE = new Set([9, 10, 13, 32])

/** Splits a stream into records, with one in memory at a time. Throws `DamagedFile` after the last readable record. */
export async function* splitRecords(
  chunks: AsyncIterable<Uint8Array>,
  { scan, isComplete }: Scanner,
): AsyncGenerator<FoundRecord> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let buffered: Uint8Array[] = []
  let bufferedBytes = 0
  let line = 1
  let startLine = 0
  for await (const chunk of chunks) {
    let start = startLine > 0 ? 0 : -1
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number
      const mark = scan(byte)
      if (mark === 'start') {
        start = at
        startLine = line
      } else if (mark === 'end') {
        append(chunk.subarray(start, at + 1))
        yield finish()
        start = -1
      } else if (mark === 'damage') throw new DamagedFile(line)
      if (byte === NEWLINE) line++
    }
    if (start >= 0) append(chunk.subarray(start))
  }
  if (startLine > 0) yield finish()
  if (!isComplete()) throw new DamagedFile(line)

  function append(bytes: Uint8Array) {
    bufferedBytes += bytes.length
    if (bufferedBytes > MAX_RECORD_BYTES) buffered = []
    else buffered.push(bytes)
  }

  function finish(): FoundRecord {
    const record = { line: startLine, text: bufferedBytes > MAX_RECORD_BYTES ? null : decode() }
    buffered = []
    bufferedBytes = 0
    startLine = 0
    return record
  }

  function decode(): string | null {
    const bytes = buffered.length === 1 ? buffered[0] : Buffer.concat(buffered)
    return tryTo(() => decoder.decode(bytes)) ?? null
  }
}

/** Finds the JSON objects at a given depth: 1 in an array, 2 in an array inside an object. */
export function objectsAt(wantedDepth: number): Scanner {
  let depth = 0
  let isInString = false
  let isEscaped = false
  let isOpen = false
  let hasListEnded = false
  let hasEnded = false
  return { scan, isComplete: () => hasEnded }

  function scan(byte: number): Mark {
    if (isInString) {
      if (isEscaped) isEscaped = false
      else if (byte === BACKSLASH) isEscaped = true
      else if (byte === QUOTE) isInString = false
    } else if (hasEnded && !SPACE.has(byte)) return 'damage'
    else if (byte === QUOTE) isInString = true
    else if (OPENING.has(byte)) {
      depth++
      if (byte === OPENING_BRACE && depth === wantedDepth + 1 && !hasListEnded) {
        isOpen = true
        return 'start'
      }
    } else if (CLOSING.has(byte)) {
      depth--
      hasListEnded ||= depth < wantedDepth
      hasEnded = depth <= 0
      if (isOpen && depth === wantedDepth) {
        isOpen = false
        return 'end'
      }
    }
    return null
  }
}

/** Finds lines. With `quotes`, as in CSV, a line break between quotes does not end a line. */
export function lines({ quotes = false } = {}): Scanner {
  let isOpen = false
  let isQuoted = false
  return { scan, isComplete: () => !isQuoted }

  function scan(byte: number): Mark {
    if (quotes && byte === QUOTE) isQuoted = !isQuoted
    if (byte === NEWLINE && !isQuoted) {
      const wasOpen = isOpen
      isOpen = false
      return wasOpen ? 'end' : null
    }
    if (isOpen) return null
    isOpen = true
    return 'start'
  }
}

/** The fields of a CSV record (RFC 4180). */
export function csvFields(record: string): string[] {
  const fields: string[] = []
  const pattern = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n?$)/gy
  for (let match = pattern.exec(record); match; match = pattern.exec(record)) {
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '')
    if (match[3] !== ',') break
  }
  return fields
}
