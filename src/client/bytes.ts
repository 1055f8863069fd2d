/** Joins chunks into one array. */
export function concat(chunks: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(chunks.reduce((size, { length }) => size + length, 0))
  let at = 0
  for (const chunk of chunks) {
    joined.set(chunk, at)
    at += chunk.length
  }
  return joined
}

export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>
}

/** 128 random bits in hex. Not for secrets: React Native has no `crypto` of its own. */
export function randomHex(): string {
  const bytes = new Uint8Array(16)
  const { crypto } = globalThis as { crypto?: Pick<Crypto, 'getRandomValues'> }
  if (crypto) crypto.getRandomValues(bytes)
  else for (let at = 0; at < bytes.length; at++) bytes[at] = Math.random() * 256
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

export function toBase64Url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes))
  return text.replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '')
}
