import { Busboy, type BusboyInstance } from '@fastify/busboy'
import { AppError, invalidField } from '../../../lib/errors.ts'
import { MAX_FILES } from '../model.ts'

/** Limits the work per form. Text fields are ignored, but a library may send many. */
const MAX_PARTS = 1_000

type HeaderParser = { buffer: string; _parseHeader: () => void }
type Internals = { _parser: { parser: { _hparser: HeaderParser } } }

/** A parser for multipart forms. The reader of each file enforces its size limit. */
export function createFormParser(contentType: string): BusboyInstance {
  const parser = createParser(contentType)
  parser.on('filesLimit', () => parser.destroy(tooManyFiles()))
  parser.on('partsLimit', () => parser.destroy(tooManyParts()))
  const headers = (parser as unknown as Internals)._parser.parser._hparser
  const parse = headers._parseHeader
  headers._parseHeader = () => {
    headers.buffer = normalizeHead(headers.buffer)
    parse.call(headers)
  }
  return parser
}

function createParser(contentType: string): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      isPartAFile: (_field, type, fileName) =>
        fileName !== undefined || type === 'application/octet-stream',
      limits: { files: MAX_FILES, parts: MAX_PARTS, fieldSize: 4_096 },
    })
  } catch {
    throw new AppError(
      'malformed_request',
      'The Content-Type header has no multipart boundary. Do not set Content-Type yourself: your HTTP client adds it with the boundary.',
    )
  }
}

/**
 * The parser mishandles white space after a boundary (RFC 2046 §5.1.1), and a `filename*` after a quoted `filename`.
 */
function normalizeHead(head: string): string {
  const unpadded = head.replace(/^[ \t]+\r\n/, '\r\n')
  if (!/;\s*filename\*=/i.test(unpadded)) return unpadded
  return unpadded
    .replace(/;\s*filename\s*=\s*("(?:[^"\\]|\\.)*"|[^;\r\n]*)/i, '')
    .replace(/form-data;/i, 'form-data; ')
}

export function decodePart(
  chunks: AsyncIterable<Uint8Array>,
  encoding: string,
): AsyncIterable<Uint8Array> {
  if (/^(7bit|8bit|binary)$/.test(encoding)) return chunks
  if (encoding === 'base64') return decodeBase64(chunks)
  throw new AppError(
    'unsupported_media_type',
    'Send the parts of the form without a Content-Transfer-Encoding, or as base64.',
  )
}

async function* decodeBase64(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest = ''
  for await (const chunk of chunks) {
    const text =
      rest +
      Buffer.from(chunk)
        .toString('latin1')
        .replace(/[^\w+/-]/g, '')
    const end = text.length - (text.length % 4)
    rest = text.slice(end)
    yield Buffer.from(text.slice(0, end), 'base64')
  }
  yield Buffer.from(rest, 'base64')
}

function tooManyFiles(): AppError {
  const message = `must have ${MAX_FILES} files or fewer`
  return invalidField('body', message, `Send at most ${MAX_FILES} files.`)
}

function tooManyParts(): AppError {
  const message = `must have ${MAX_PARTS} parts or fewer`
  return invalidField('body', message, `A form must not have more than ${MAX_PARTS} parts.`)
}
