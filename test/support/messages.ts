import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { sha256 } from '../../src/lib/crypto/hash.ts'
import type { Ask, TestApp } from './app.ts'
import { sealToPublicKey } from './reference-jwe.ts'

/** The parts of a message that differ from those of the real client. */
export type MessageParts = {
  head?: Record<string, unknown>
  header?: Record<string, unknown>
  body?: string | Uint8Array
  /** The whole content in place of head and body. */
  plaintext?: string
}

const PROFILE = '/api/user/profile/v1'

/** Creates messages without our own client, and sends them to a test application. */
export async function messagesFor(app: TestApp) {
  const { json } = await app.ask('GET', '/.well-known/jwks.json', { headers: { env: 'test' } })
  const publicKey = keyForPayloads(json.keys)
  const { seal, headOf, patchName } = createSealer(publicKey, () => app.clock.now)
  return { publicKey, seal, headOf, patchName, post, get }

  /** Delivers a message in the body. `X-Request-Id` is fixed, so that responses can be compared. */
  function post(method: string, path: string, message: Ask['body'] | string, options: Ask = {}) {
    const headers = { ...fixedHeaders, 'content-type': 'application/jose', ...options.headers }
    return app.ask(method, path, { ...options, body: message as string, headers })
  }

  /** Delivers a message in the header `Payload`. */
  function get(path: string, message: string, options: Ask = {}) {
    return app.ask('GET', path, {
      ...options,
      headers: { ...fixedHeaders, payload: message, ...options.headers },
    })
  }
}

type KeySet = { keys: PublicKey[] }
type PublicKey = { use: string; kid: string; kty?: string }

/** The public key that a server publishes for payloads. */
export async function readKeyForPayloads(url: string): Promise<PublicKey> {
  const { keys } = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as KeySet
  return keyForPayloads(keys)
}

function keyForPayloads(keys: PublicKey[]): PublicKey {
  const key = keys.find(({ use }) => use === 'enc')
  if (!key) throw new Error('the server has no key for payloads')
  return key
}

export function createSealer(publicKey: PublicKey, now: () => Date) {
  return { seal, headOf, patchName }

  /** The first line of a message, including its line break. */
  function headOf(head: MessageParts['head']): string {
    const line = JSON.stringify({
      v: 1,
      jti: randomBytes(16).toString('base64url'),
      iat: Math.floor(now().getTime() / 1000),
      htm: 'GET',
      htu: PROFILE,
      ath: null,
      rk: randomBytes(32).toString('base64url'),
      ...head,
    })
    return `${line}\n`
  }

  function seal({ head, header, body = '', plaintext }: MessageParts): string {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const ephemeral = privateKey.export({ format: 'jwk' })
    const { d: _secret, ...epk } = ephemeral
    const { kid } = publicKey
    const joseHeader = { alg: 'ECDH-ES', enc: 'A256GCM', kid, typ: 'req+jwe', epk, ...header }
    const content = plaintext ?? Buffer.concat([Buffer.from(headOf(head)), Buffer.from(body)])
    const message = { header: joseHeader, plaintext: Buffer.from(content), iv: randomBytes(12) }
    return sealToPublicKey(message, publicKey, ephemeral)
  }

  /** A message that changes the name of the user with `token`. */
  function patchName(token: string, name: string, parts: MessageParts = {}): string {
    const ath = sha256(token)
    const head = { htm: 'PATCH', htu: PROFILE, ath, at: token, ...parts.head }
    const body = JSON.stringify({ profile: { name } })
    return seal({ body, ...parts, head, header: { cty: 'application/json', ...parts.header } })
  }
}

const fixedHeaders = { env: 'production', 'x-request-id': 'fixed' }
