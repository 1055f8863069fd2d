/** A file to upload: a browser's `File`, or bytes with a name. */
export type UploadFile =
  | (Blob & { name: string })
  | { name: string; type?: string; data: Blob | ArrayBuffer | Uint8Array }

/**
 * `multipart/form-data` (RFC 7578) as bytes: React Native's own forms can be sent but not be read,
 * and what cannot be read cannot be sealed.
 */
export async function encodeForm(files: UploadFile[]) {
  const random = crypto.getRandomValues(new Uint8Array(16))
  const boundary = `homeport-${Array.from(random, (byte) => byte.toString(16)).join('')}`
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

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** All of `chunks` in one. */
export function concat(chunks: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(chunks.reduce((size, { length }) => size + length, 0))
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}
