import { calculateJwkThumbprint, importJWK, type JWK } from 'jose'
import { ApiError, clientError } from './api-error.ts'
import { DEFAULT_TIMEOUT_MS, type Deadline, withDeadline } from './deadline.ts'
import type { Transmit } from './fetch.ts'
import type { ServerKey } from './sealing.ts'

type ServerKeysDeps = {
  baseUrl: string
  /** Thumbprints (RFC 7638) of trusted keys; without them, any key that the server presents is trusted. */
  pinnedKeys: string[] | null
  transmit: Transmit
  now: () => number
}

/** How long the keys are cached: the server announces a new key a day ahead. */
const KEYS_LIFETIME_MS = 60 * 60 * 1000

/** Reads and caches the server's published encryption key. */
export function createServerKeys({ baseUrl, pinnedKeys, transmit, now }: ServerKeysDeps) {
  let known: { key: ServerKey; readAt: number } | null = null
  let reading: Promise<ServerKey> | null = null
  return { current, renew }

  async function current(): Promise<ServerKey> {
    if (known === null) return renew()
    if (now() - known.readAt < KEYS_LIFETIME_MS) return known.key
    const { key } = known
    try {
      return await readShared()
    } catch (error) {
      // The server accepts an old key for weeks, so it still works while the keys cannot be read.
      if ((error as ApiError).code === 'no_trusted_key') throw error
      return key
    }
  }

  function renew(): Promise<ServerKey> {
    known = null
    return readShared()
  }

  /** Concurrent callers share the result, so no caller's signal or timeout cancels it. */
  function readShared(): Promise<ServerKey> {
    reading ??= withDeadline({ timeout: DEFAULT_TIMEOUT_MS }, read).finally(() => {
      reading = null
    })
    return reading
  }

  async function read(deadline: Deadline): Promise<ServerKey> {
    const keys = await readJwks(deadline)
    try {
      const jwk = await choose(keys)
      const key = { kid: await calculateJwkThumbprint(jwk), key: await importJWK(jwk, 'ECDH-ES') }
      known = { key, readAt: now() }
      return key
    } catch (cause) {
      throw cause instanceof ApiError ? cause : noKeys(200, cause)
    }
  }

  /** Chooses the first trusted key: the current one comes first, then older ones for apps that have pinned them. */
  async function choose(keys: JWK[]): Promise<JWK> {
    for (const jwk of keys) {
      if (jwk.use !== 'enc' || jwk.kty !== 'EC' || jwk.crv !== 'P-256') continue
      // The thumbprint is computed: the key's own `kid` proves nothing.
      if (pinnedKeys === null || pinnedKeys.includes(await calculateJwkThumbprint(jwk))) return jwk
    }
    throw clientError('no_trusted_key', 'The server publishes no key that this app trusts.')
  }

  async function readJwks(deadline: Deadline): Promise<JWK[]> {
    // Intermediate caches could still hold a key that has just been retired.
    const url = `${baseUrl}/.well-known/jwks.json?at=${now()}`
    const request = { url, method: 'GET', headers: {}, body: null }
    const { status, text } = await transmit(request, deadline)
    try {
      const { keys } = JSON.parse(text) as { keys: JWK[] }
      return keys.filter(({ x, y }) => typeof x === 'string' && typeof y === 'string')
    } catch (cause) {
      throw noKeys(status, cause)
    }
  }
}

function noKeys(status: number, cause: unknown): ApiError {
  const message = 'The server publishes no keys: check that baseUrl is its URL, without a path.'
  return new ApiError({ status, code: 'reply_invalid', message, cause })
}
