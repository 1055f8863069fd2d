import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** Generating RSA keys is slow, so all fakes of a process share them. */
const keys: RsaKey[] = []

export type RsaKey = { privateKey: KeyObject; publicKey: KeyObject }

export function rsaKey(number: number): RsaKey {
  keys[number] ??= generateKeyPairSync('rsa', { modulusLength: 2048 })
  return keys[number]
}

/** A compact JWS. `HS256` uses the public key as the secret, which a careless verifier accepts. */
export function signToken(claims: object, header: { alg: string; kid: string }, key: RsaKey) {
  const data = [{ typ: 'JWT', ...header }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${data}.${signatureOf(data, header.alg, key)}`
}

function signatureOf(data: string, alg: string, { privateKey }: RsaKey): string {
  if (alg === 'none') return ''
  if (alg === 'RS256') return sign('sha256', Buffer.from(data), privateKey).toString('base64url')
  const secret = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' })
  return createHmac('sha256', secret).update(data).digest('base64url')
}
