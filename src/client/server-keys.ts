import { calculateJwkThumbprint, importJWK, type JWK } from 'jose'
import { ApiError } from './api-error.ts'
import type { ServerKey } from './sealing.ts'
import type { Fetch } from './transmit.ts'

export type ServerKeysDeps = {
  baseUrl: string
  /** Thumbprints (RFC 7638) that may be believed; without them, whatever the network says is. */
  pinnedKeys: string[] | null
  fetch: Fetch
  now: () => number
}

/** How long the keys are taken as they are, in ms: the server announces a new one a day ahead. */
const LIFE = 60 * 60 * 1000

/** The key to seal for, as the server publishes it. */
export function createServerKeys({ baseUrl, pinnedKeys, fetch, now }: ServerKeysDeps) {
  let known: { key: ServerKey; readAt: number } | null = null
  let reading: Promise<ServerKey> | null = null
  return { current, renew }

  async function current(): Promise<ServerKey> {
    if (known === null) return renew()
    if (now() - known.readAt < LIFE) return known.key
    const { key } = known
    // The server accepts an older key for weeks: without the network one can go on with it.
    return renew().catch(() => key)
  }

  /** Reads the keys again; those who ask meanwhile share the answer. */
  function renew(): Promise<ServerKey> {
    reading ??= read().finally(() => {
      reading = null
    })
    return reading
  }

  async function read(): Promise<ServerKey> {
    try {
      const jwk = await choose(await readJwks())
      const key = { kid: await calculateJwkThumbprint(jwk), key: await importJWK(jwk, 'ECDH-ES') }
      known = { key, readAt: now() }
      return key
    } catch (cause) {
      if (cause instanceof ApiError) throw cause
      const message = 'The keys of the server cannot be read.'
      throw new ApiError({ status: 0, code: 'network_error', message, cause })
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

  async function readJwks(): Promise<JWK[]> {
    const reply = await fetch(`${baseUrl}/.well-known/jwks.json`, { cache: 'no-store' })
    if (!reply.ok) throw new Error(`answered ${reply.status}`)
    return ((await reply.json()) as { keys: JWK[] }).keys
  }
}
