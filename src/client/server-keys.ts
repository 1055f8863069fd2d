import { calculateJwkThumbprint, importJWK, type JWK } from 'jose'
import { ApiError } from './api-error.ts'
import { DEFAULT_TIMEOUT, type Patience, withPatience } from './patience.ts'
import type { ServerKey } from './sealing.ts'
import type { Transmit } from './transmit.ts'

type ServerKeysDeps = {
  baseUrl: string
  /** Thumbprints (RFC 7638) that may be believed; without them, whatever the network says is. */
  pinnedKeys: string[] | null
  transmit: Transmit
  now: () => number
}

/** How long the keys are taken as they are, in ms: the server announces a new one a day ahead. */
const LIFE = 60 * 60 * 1000

/** The key to seal for, as the server publishes it. */
export function createServerKeys({ baseUrl, pinnedKeys, transmit, now }: ServerKeysDeps) {
  let known: { key: ServerKey; readAt: number } | null = null
  let reading: Promise<ServerKey> | null = null
  return { current, renew }

  async function current(): Promise<ServerKey> {
    if (known === null) return renew()
    if (now() - known.readAt < LIFE) return known.key
    const before = known
    try {
      return await renew()
    } catch (error) {
      // The server accepts an older key for weeks: without the network one can go on with it.
      if ((error as ApiError).code === 'no_trusted_key') throw error
      known = before
      return before.key
    }
  }

  /** Forgets the key and reads the keys again; those who ask meanwhile share the answer. */
  function renew(): Promise<ServerKey> {
    known = null
    // Shared by all who ask: nobody's own signal or time ends it.
    reading ??= withPatience({ timeout: DEFAULT_TIMEOUT }, read).finally(() => {
      reading = null
    })
    return reading
  }

  async function read(patience: Patience): Promise<ServerKey> {
    const keys = await readJwks(patience)
    try {
      const jwk = await choose(keys)
      const key = { kid: await calculateJwkThumbprint(jwk), key: await importJWK(jwk, 'ECDH-ES') }
      known = { key, readAt: now() }
      return key
    } catch (cause) {
      throw cause instanceof ApiError ? cause : noKeys(200, cause)
    }
  }

  /** The first key for payloads is the one in use; older ones follow for apps that have pinned them. */
  async function choose(keys: JWK[]): Promise<JWK> {
    for (const jwk of keys) {
      if (jwk.use !== 'enc' || jwk.kty !== 'EC' || jwk.crv !== 'P-256') continue
      // The thumbprint is computed: what the key calls itself proves nothing.
      if (pinnedKeys === null || pinnedKeys.includes(await calculateJwkThumbprint(jwk))) return jwk
    }
    throw new ApiError({
      status: 0,
      code: 'no_trusted_key',
      message: 'The server shows no key that this app trusts.',
    })
  }

  async function readJwks(patience: Patience): Promise<JWK[]> {
    // Caches on the way would still show a key that has just been retired.
    const url = `${baseUrl}/.well-known/jwks.json?at=${now()}`
    const request = { url, method: 'GET', headers: {}, body: null }
    const { status, text } = await transmit(request, patience)
    try {
      const { keys } = JSON.parse(text) as { keys: JWK[] }
      return keys.filter(({ x, y }) => typeof x === 'string' && typeof y === 'string')
    } catch (cause) {
      throw noKeys(status, cause)
    }
  }
}

function noKeys(status: number, cause: unknown): ApiError {
  const message = 'The server shows no keys: is baseUrl its address, without a path?'
  return new ApiError({ status, code: 'reply_invalid', message, cause })
}
