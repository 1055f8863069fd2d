import { tryTo } from '../../lib/errors.ts'
import { parseJson } from '../../lib/text/json.ts'
import type { SentRequest } from './types.ts'

type SentFile = SentRequest['files'][number]

/** A request as the handlers see it. */
export type FakeRequest = Pick<SentRequest, 'query' | 'headers'> & {
  signal: AbortSignal | null | undefined
  /** The signed-in user and session; empty without a token. */
  userId: string
  sessionId: string
}

/** React Native's form has `getParts`. */
type Form = {
  getParts?: () => { name?: string; type?: string }[]
  entries?: () => Iterable<[string, unknown]>
}

/** The name and type of a file whose form does not state them. */
const PHONE_FILE = { name: 'file.jpg', type: 'image/jpeg', size: 0 }

/** Headers in any form that `fetch` accepts. */
export function toHeaderRecord(init: RequestInit['headers']): Record<string, string> {
  const pairs = Array.isArray(init)
    ? init
    : typeof (init as Headers | undefined)?.forEach === 'function'
      ? [...(init as unknown as Iterable<[string, string]>)]
      : Object.entries((init ?? {}) as Record<string, string>)
  return Object.fromEntries(
    pairs.map(([name, value]) => [String(name).toLowerCase(), String(value)]),
  )
}

export async function readBody(
  body: unknown,
  contentType: string,
): Promise<{ json: unknown; files: SentFile[]; size: number }> {
  if (isForm(body)) {
    const files = listFiles(body)
    return { json: null, files, size: files.reduce((sum, { size }) => sum + size, 0) }
  }
  const bytes = await readBytes(body)
  const [, boundary] = /^multipart\/form-data;.*boundary="?([^";]+)/.exec(contentType) ?? []
  const files = boundary === undefined ? [] : parseForm(bytes, boundary)
  const json = files.length > 0 ? null : (parseJson(new TextDecoder().decode(bytes)) ?? null)
  return { json, files, size: bytes.length }
}

function isForm(body: unknown): body is Form {
  return typeof (body as { append?: unknown } | null)?.append === 'function'
}

async function readBytes(body: unknown): Promise<Uint8Array> {
  if (typeof body === 'string') return new TextEncoder().encode(body)
  // Not `instanceof`: the bytes may come from another realm, as in Jest.
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength)
  if (!body) return new Uint8Array()
  const blob = body as Partial<Blob>
  return new Uint8Array(blob.arrayBuffer ? await blob.arrayBuffer() : (body as ArrayBuffer))
}

function listFiles(form: Form): SentFile[] {
  const parts = form.getParts?.() ?? Array.from(form.entries?.() ?? [], ([, value]) => value)
  return parts.map((part) => {
    // Outside of React Native, a form turns `{ uri }` into text.
    if (typeof part === 'string') return PHONE_FILE
    const { name = 'file', type = '', size = 0 } = part as Partial<SentFile>
    return { name, type, size }
  })
}

export function decodeName(name: string): string {
  return tryTo(() => decodeURIComponent(name)) ?? name
}

/** The files of `multipart/form-data` (RFC 7578). */
function parseForm(bytes: Uint8Array, boundary: string): SentFile[] {
  // One character per byte, so that positions in the text are positions in the bytes.
  const text = new TextDecoder('latin1').decode(bytes)
  const delimiter = `\r\n--${boundary}`
  const files: SentFile[] = []
  let at = text.indexOf(`--${boundary}`) - 2
  for (;;) {
    const start = text.indexOf('\r\n\r\n', at)
    const end = text.indexOf(delimiter, start)
    if (start < 0 || end < 0) return files
    const head = new TextDecoder().decode(bytes.subarray(Math.max(at, 0), start))
    const [, name = ''] = /filename="((?:\\.|[^"\\])*)"/.exec(head) ?? []
    const [, type = ''] = /content-type: *([^\r]+)/i.exec(head) ?? []
    files.push({ name: decodeName(name.replace(/\\(.)/g, '$1')), type, size: end - start - 4 })
    at = end
  }
}
