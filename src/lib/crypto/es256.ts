import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import type { JWK } from 'jose'

const imported = new WeakMap<JWK, KeyObject>()

/** A private key for node:crypto, imported once per JWK object. */
export function toPrivateKey(jwk: JWK): KeyObject {
  const known = imported.get(jwk)
  if (known) return known
  const key = createPrivateKey({ key: { ...jwk }, format: 'jwk' })
  imported.set(jwk, key)
  return key
}

/** ES256 (RFC 7518) on this thread in 0.1 ms: jose would wait in a thread pool that password hashes can occupy. */
export function signJwt(
  header: { typ: string; kid: string; jwk?: JWK },
  payload: object,
  jwk: JWK,
): string {
  const text = `${encode({ alg: 'ES256', ...header })}.${encode(payload)}`
  const signature = sign('sha256', Buffer.from(text), {
    key: toPrivateKey(jwk),
    dsaEncoding: 'ieee-p1363',
  })
  return `${text}.${signature.toString('base64url')}`
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
