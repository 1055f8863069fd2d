import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AppError } from '../../../lib/errors.ts'
import { atMinimumRate } from '../../../platform/http/body/arrival.ts'
import {
  readContentLength,
  rejectEncodedBody,
  rejectTooLong,
  streamChunks,
  tooLarge,
} from '../../../platform/http/body/body.ts'
import { MIN_UPLOAD_RATE } from '../../../platform/http/body/connection-time.ts'
import { malformed } from '../../../platform/http/replies/errors.ts'
import { decodedHeader } from '../../../platform/http/request/request-headers.ts'
import { MAX_FILE_BYTES } from '../storage/files.ts'
import { createFormParser, decodePart } from './form-parser.ts'
import type { Staged, Staging } from './staging.ts'

const MAX_REQUEST_BYTES = 64 * 1024 * 1024

export type Upload = Staged & { fileName: string }

/** The announced size of an upload, otherwise the limit. Throws if the announced size exceeds the limit. */
export function readUploadSize(request: Request): number {
  rejectEncodedBody(request)
  const limit = isForm(request) ? MAX_REQUEST_BYTES : MAX_FILE_BYTES
  rejectTooLong(request, limit)
  return readContentLength(request) ?? limit
}

/** A multipart form or one raw body. Leaves nothing behind if it throws. */
export async function receiveUploads(
  request: Request,
  staging: Pick<Staging, 'check' | 'receive' | 'discard'>,
): Promise<Upload[]> {
  // Refuse an upload that cannot fit before reading it.
  await staging.check(readUploadSize(request))
  const chunks = atMinimumRate(streamChunks(request), MIN_UPLOAD_RATE)
  if (isForm(request)) return await receiveForm(request, chunks, staging)
  const staged = await staging.receive(chunks, MAX_FILE_BYTES, fileTooLarge)
  return [{ ...staged, fileName: decodedHeader(request.headers.get('x-file-name')) }]
}

function isForm({ headers }: Request): boolean {
  return /^multipart\/form-data/i.test(headers.get('content-type') ?? '')
}

async function receiveForm(
  { headers }: Request,
  chunks: AsyncIterable<Uint8Array>,
  { receive, discard }: Pick<Staging, 'receive' | 'discard'>,
): Promise<Upload[]> {
  const parser = createFormParser(headers.get('content-type') ?? '')
  const arriving: Promise<Upload>[] = []
  const parts: { destroy(error: unknown): unknown }[] = []
  let firstError: Error | null = null
  parser.on('file', (_field, stream, fileName, encoding) => {
    parts.push(stream)
    // The parser does not report that a form was cut off: the stream's reader would wait forever.
    stream.on('error', (error) => stream.destroy(error))
    const arrival = receivePart(stream, encoding, fileName)
    // Destroy the parser immediately: it would wait forever for a stream without a reader.
    arrival.catch((error: Error) => {
      firstError ??= error
      parser.destroy(error)
    })
    arriving.push(arrival)
  })
  async function receivePart(stream: Readable, encoding: string, fileName?: string) {
    const staged = await receive(decodePart(stream, encoding), MAX_FILE_BYTES, fileTooLarge)
    return { ...staged, fileName: decodedHeader(fileName ?? null) }
  }
  try {
    await pipeline(limitBytes(chunks), parser)
    const uploads = await Promise.all(arriving)
    // Browsers send this for a file input without a file.
    const isEmptyInput = ({ fileName, size }: Upload) => fileName === '' && size === 0
    await discard(uploads.filter(isEmptyInput))
    return uploads.filter((upload) => !isEmptyInput(upload))
  } catch (error) {
    // Destroy parts that were cut off; their readers would wait forever.
    for (const part of parts) part.destroy(error)
    const settled = await Promise.allSettled(arriving)
    await discard(settled.flatMap((part) => (part.status === 'fulfilled' ? [part.value] : [])))
    const cause = firstError ?? error
    // Disk errors are not the sender's fault.
    const isOurs = cause instanceof AppError || (cause as { syscall?: string }).syscall
    throw isOurs ? cause : malformed('The form is damaged or incomplete.')
  }
}

async function* limitBytes(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.byteLength
    if (size > MAX_REQUEST_BYTES) throw tooLarge(MAX_REQUEST_BYTES)
    yield chunk
  }
}

function fileTooLarge(): AppError {
  return new AppError('payload_too_large', `A file must not exceed ${MAX_FILE_BYTES} bytes.`)
}
