/** A complete response. `body` is the raw bytes without chunk framing. */
export type Reply = { status: number; body: Buffer }

const HEAD_END = '\r\n\r\n'
const LINE_END = '\r\n'

/**
 * Collects the bytes of one connection and returns a response once it is complete, null until then. It
 * supports `Content-Length` and chunks, and does not copy large bodies at every piece.
 */
export function createReplyReader() {
  let pieces: Buffer[] = []
  let received = 0
  /** How many bytes must have arrived before parsing again. */
  let needed = 0
  return { take }

  function take(piece: Uint8Array): Reply | null {
    pieces.push(Buffer.from(piece))
    received += piece.length
    if (received < needed) return null
    const bytes = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
    pieces = [bytes]
    const reply = parse(bytes)
    if (reply === null) return null
    pieces = []
    received = 0
    needed = 0
    return reply
  }

  function parse(bytes: Buffer): Reply | null {
    const headEnd = bytes.indexOf(HEAD_END)
    if (headEnd < 0) return null
    const head = bytes.toString('latin1', 0, headEnd)
    const start = headEnd + HEAD_END.length
    const status = Number(head.slice(9, 12))
    if (/\r\ntransfer-encoding: chunked/i.test(head)) {
      const body = joinChunks(bytes, start)
      return body && { status, body }
    }
    // RFC 9110 §15.4.5: a 304 has no body, whatever its Content-Length.
    const length = status === 304 ? 0 : Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
    needed = start + length
    return bytes.length < needed ? null : { status, body: bytes.subarray(start, needed) }
  }
}

/** The body whose chunks begin at `start`, or null while some are missing. */
function joinChunks(bytes: Buffer, start: number): Buffer | null {
  const chunks: Buffer[] = []
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf(LINE_END, at)
    if (lineEnd < 0) return null
    const length = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    const chunkStart = lineEnd + LINE_END.length
    at = chunkStart + length + LINE_END.length
    if (bytes.length < at) return null
    if (length === 0) return Buffer.concat(chunks)
    chunks.push(bytes.subarray(chunkStart, chunkStart + length))
  }
}
