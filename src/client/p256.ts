import { p256 } from '@noble/curves/nist.js'
import { sha256 } from '@noble/hashes/sha2.js'

/** Replaces WebCrypto, which React Native lacks. The names are those of proof.ts. */
export async function digest(data: Uint8Array): Promise<Uint8Array> {
  return sha256(data)
}

/** `x` and `y`: the public key. ES256 also allows signatures with a high S. */
export async function verify(
  { x, y }: { x: Uint8Array; y: Uint8Array },
  signature: Uint8Array,
  data: Uint8Array,
): Promise<boolean> {
  return p256.verify(signature, data, Uint8Array.of(4, ...x, ...y), { lowS: false })
}

/** For the fake server. */
export function sign(secret: Uint8Array, data: Uint8Array): Uint8Array {
  return p256.sign(data, secret)
}

export function getPublicKey(secret: Uint8Array): { x: Uint8Array; y: Uint8Array } {
  const point = p256.getPublicKey(secret, false)
  return { x: point.subarray(1, 33), y: point.subarray(33) }
}
