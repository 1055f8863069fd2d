import { concat, randomHex, utf8 } from './bytes.ts'

/** A file to upload: a browser's `File`, or bytes with a name. */
export type UploadFile =
  | (Blob & { name: string })
  | { name: string; type?: string; data: Blob | ArrayBuffer | Uint8Array }

/**
 * `multipart/form-data` (RFC 7578) as bytes: React Native's own forms can be sent but not be read,
 * and what cannot be read cannot be sealed.
 */
export async function encodeForm(files: UploadFile[]) {
  const boundary = `homeport-${randomHex()}`
  const chunks: Uint8Array[] = []
  for (const file of files) {
    const lines = [
      `--${boundary}`,
      `Content-Disposition: form-data; name="file"; filename="${quoted(file.name)}"`,
      `Content-Type: ${file.type || 'application/octet-stream'}`,
    ]
    chunks.push(utf8(`${lines.join('\r\n')}\r\n\r\n`), await bytesOf(file), utf8('\r\n'))
  }
  chunks.push(utf8(`--${boundary}--\r\n`))
  return { contentType: `multipart/form-data; boundary=${boundary}`, body: concat(chunks) }
}

/** RFC 822: a quote or a backslash stands behind a backslash, and a line ends nowhere inside. */
function quoted(name: string): string {
  return name.replace(/[\r\n]+/g, ' ').replace(/["\\]/g, (character) => `\\${character}`)
}

async function bytesOf(file: UploadFile): Promise<Uint8Array> {
  const data = 'data' in file ? file.data : file
  if (data instanceof Uint8Array) return data
  return new Uint8Array(data instanceof ArrayBuffer ? data : await data.arrayBuffer())
}
