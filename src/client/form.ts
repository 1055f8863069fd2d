import { clientError } from './api-error.ts'
import type { PhoneFile, UploadFile } from './attachments.ts'
import { concat, randomHex, utf8 } from './bytes.ts'
import type { Fetch } from './fetch.ts'

/** A request body. The platform adds the content type of a form, with its boundary. */
export type Body = {
  contentType: string | null
  body: Uint8Array<ArrayBuffer> | FormData
  /** Bytes; null if only the platform knows. */
  size: number | null
}

/** Encodes files as a form. The platform streams files on a phone, unless they must be sealed. */
export async function encodeUpload(
  files: UploadFile[],
  requiresBytes: boolean,
  fetch?: Fetch,
): Promise<Body> {
  // React Native's forms cannot contain bytes.
  if (requiresBytes || !files.every(isStreamed)) return encodeForm(files, fetch)
  const form = new FormData()
  for (const file of files) {
    // In React Native an object with a `uri` is a file; browser types do not know that. Expo's files have getters.
    const { uri, name } = file
    form.append('file', { uri, name, type: readType(file) } as unknown as Blob)
  }
  return { contentType: null, body: form, size: null }
}

/** `multipart/form-data` (RFC 7578). React Native's own forms cannot be read, so they cannot be sealed. */
async function encodeForm(files: UploadFile[], fetch?: Fetch): Promise<Body> {
  const boundary = `homeport-${randomHex()}`
  const chunks: Uint8Array[] = []
  for (const file of files) {
    const lines = [
      `--${boundary}`,
      `Content-Disposition: form-data; name="file"; filename="${quoteFileName(file.name)}"`,
      `Content-Type: ${readType(file)}`,
    ]
    chunks.push(utf8(`${lines.join('\r\n')}\r\n\r\n`), await readBytes(file, fetch), utf8('\r\n'))
  }
  chunks.push(utf8(`--${boundary}--\r\n`))
  const body = concat(chunks)
  return { contentType: `multipart/form-data; boundary=${boundary}`, body, size: body.length }
}

function isOnPhone(file: UploadFile): file is PhoneFile {
  return 'uri' in file
}

/** React Native streams files; a browser's `blob:` URL is read here. */
function isStreamed(file: UploadFile): file is PhoneFile {
  return isOnPhone(file) && !/^(blob|data):/.test(file.uri)
}

function readType({ type }: UploadFile): string {
  return type || 'application/octet-stream'
}

/** Quoted as in RFC 822: quotes and backslashes are escaped, line breaks become spaces. The server decodes `%25`. */
function quoteFileName(name: string): string {
  return name
    .replace(/%/g, '%25')
    .replace(/[\r\n]+/g, ' ')
    .replace(/["\\]/g, (character) => `\\${character}`)
}

async function readBytes(file: UploadFile, fetch?: Fetch): Promise<Uint8Array<ArrayBuffer>> {
  try {
    if (isOnPhone(file)) return new Uint8Array(await readFromPhone(file.uri, fetch))
    const data = 'data' in file ? file.data : file
    // Not `instanceof`: the bytes may come from another realm, as in Jest.
    if (ArrayBuffer.isView(data)) {
      return new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength)
    }
    if ('arrayBuffer' in data) return new Uint8Array(await data.arrayBuffer())
    // React Native's Blob does not expose its bytes: `new Uint8Array` would silently be empty.
    if ('size' in data) throw new TypeError('this platform cannot read a Blob')
    return new Uint8Array(data)
  } catch (cause) {
    throw clientError('file_unreadable', `The file ${file.name} cannot be read.`, cause)
  }
}

/** The part of React Native's XMLHttpRequest that reads files. */
type FileRequest = {
  responseType: string
  response: unknown
  onload: () => void
  onerror: () => void
  ontimeout: () => void
  open(method: string, url: string): void
  send(): void
}

/** React Native's `fetch` does not return bytes on every platform. */
async function readFromPhone(uri: string, fetch?: Fetch): Promise<ArrayBuffer> {
  if (fetch) return (await fetch(uri)).arrayBuffer()
  return new Promise((resolve, reject) => {
    const { XMLHttpRequest } = globalThis as unknown as { XMLHttpRequest: new () => FileRequest }
    const request = new XMLHttpRequest()
    request.responseType = 'arraybuffer'
    request.onload = () => resolve(request.response as ArrayBuffer)
    const fail = () => reject(new Error('the platform cannot open the file'))
    Object.assign(request, { onerror: fail, ontimeout: fail })
    request.open('GET', uri)
    request.send()
  })
}
