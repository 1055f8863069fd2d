import { createPrivateKey, type KeyObject } from 'node:crypto'
import type { JWK } from 'jose'

const imported = new WeakMap<JWK, KeyObject>()

/** A private key for node:crypto, read once for the same object. */
export function privateKeyOf(jwk: JWK): KeyObject {
  const known = imported.get(jwk)
  if (known) return known
  const key = createPrivateKey({ key: { ...jwk }, format: 'jwk' })
  imported.set(jwk, key)
  return key
}
