import { ApiError } from './api-error.ts'
import type { PhoneFile, UploadFile } from './attachments.ts'
import { concat, randomHex, utf8 } from './bytes.ts'
import type { Fetch } from './transmit.ts'

/** A body as it is sent. The platform gives a form its content type, with the boundary. */
export type Body = {
  contentType: string | null
  body: Uint8Array<ArrayBuffer> | FormData
  /** Bytes; null where the platform alone knows. */
  size: number | null
}

/** The files as a form. Those of a phone are read by the platform as they go out, unless they must be sealed. */
export async function formOf(
  files: UploadFile[],
  mustBeBytes: boolean,
  fetch?: Fetch,
): Promise<Body> {
  if (mustBeBytes || !files.some(isStreamed)) return encodeForm(files, fetch)
  const form = new FormData()
  for (const file of files) {
    // React Native takes an object with a `uri` for a file, which the types of browsers do not know.
    if (isStreamed(file)) form.append('file', { ...file, type: typeOf(file) } as unknown as Blob)
    else
      form.append('file', new Blob([await bytesOf(file, fetch)], { type: typeOf(file) }), file.name)
  }
  return { contentType: null, body: form, size: null }
}

/**
 * `multipart/form-data` (RFC 7578) as bytes: React Native's own forms can be sent but not be read,
 * and what cannot be read cannot be sealed.
 */
async function encodeForm(files: UploadFile[], fetch?: Fetch): Promise<Body> {
  const boundary = `homeport-${randomHex()}`
  const chunks: Uint8Array[] = []
  for (const file of files) {
    const lines = [
      `--${boundary}`,
      `Content-Disposition: form-data; name="file"; filename="${quoted(file.name)}"`,
      `Content-Type: ${typeOf(file)}`,
    ]
    chunks.push(utf8(`${lines.join('\r\n')}\r\n\r\n`), await bytesOf(file, fetch), utf8('\r\n'))
  }
  chunks.push(utf8(`--${boundary}--\r\n`))
  const body = concat(chunks)
  return { contentType: `multipart/form-data; boundary=${boundary}`, body, size: body.length }
}

function isOnPhone(file: UploadFile): file is PhoneFile {
  return 'uri' in file
}

/** The platform reads it as it goes out: React Native does, while a browser's `blob:` is read here. */
function isStreamed(file: UploadFile): file is PhoneFile {
  return isOnPhone(file) && !/^(blob|data):/.test(file.uri)
}

function typeOf({ type }: UploadFile): string {
  return type || 'application/octet-stream'
}

/** RFC 822: a quote or a backslash stands behind a backslash, and a line ends nowhere inside. */
function quoted(name: string): string {
  return name.replace(/[\r\n]+/g, ' ').replace(/["\\]/g, (character) => `\\${character}`)
}

async function bytesOf(file: UploadFile, fetch?: Fetch): Promise<Uint8Array<ArrayBuffer>> {
  try {
    if (isOnPhone(file)) return new Uint8Array(await readFromPhone(file.uri, fetch))
    const data = 'data' in file ? file.data : file
    // Not `instanceof`: bytes may come from another realm, as in Jest.
    if (ArrayBuffer.isView(data)) {
      return new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength)
    }
    return new Uint8Array('arrayBuffer' in data ? await data.arrayBuffer() : data)
  } catch (cause) {
    const message = `The file ${file.name} cannot be read.`
    throw new ApiError({ status: 0, code: 'file_unreadable', message, cause })
  }
}

/** The part of React Native's XMLHttpRequest that reads files. */
type FileReading = {
  responseType: string
  response: unknown
  onload: () => void
  onerror: () => void
  open(method: string, url: string): void
  send(): void
}

/** React Native's own `fetch` does not give bytes everywhere; its XMLHttpRequest does. */
async function readFromPhone(uri: string, fetch?: Fetch): Promise<ArrayBuffer> {
  if (fetch) return (await fetch(uri)).arrayBuffer()
  return new Promise((resolve, reject) => {
    const { XMLHttpRequest } = globalThis as unknown as { XMLHttpRequest: new () => FileReading }
    const request = new XMLHttpRequest()
    request.responseType = 'arraybuffer'
    request.onload = () => resolve(request.response as ArrayBuffer)
    request.onerror = () => reject(new Error('the platform does not open it'))
    request.open('GET', uri)
    request.send()
  })
}
