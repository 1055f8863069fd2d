import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose'
import { readTextCapped } from '../net/bounded-fetch.ts'

/** The minimum time between requests for unknown keys. */
const COOLDOWN_MS = 30_000
const TIMEOUT_MS = 5_000
const MAX_KEYS_BYTES = 256 * 1024

/** The keys that an identity provider publishes, fetched when needed and kept for `lifetimeMs`. */
export function remoteKeys(url: string, lifetimeMs: number): JWTVerifyGetKey {
  let keys = createKeySet(url, lifetimeMs)
  let latest = 0
  return (header, token) => {
    const at = Date.now()
    // After the clock was set back, jose would keep its keys until the clock catches up.
    if (at < latest - COOLDOWN_MS) keys = createKeySet(url, lifetimeMs)
    latest = at
    return keys(header, token)
  }
}

export function createKeySet(url: string, lifetimeMs: number) {
  return createRemoteJWKSet(new URL(url), {
    cooldownDuration: COOLDOWN_MS,
    cacheMaxAge: lifetimeMs,
    timeoutDuration: TIMEOUT_MS,
    headers: { 'accept-encoding': 'identity' },
    [customFetch]: fetchKeys,
  })
}

async function fetchKeys(url: string, options: RequestInit): Promise<Response> {
  const reply = await fetch(url, { ...options, decompress: false })
  const body = await readTextCapped(reply, MAX_KEYS_BYTES)
  if (body === null)
    throw new Error('the key set of the identity provider is too long, or compressed')
  return new Response(body, { status: reply.status })
}

/** Token errors from jose are the caller's fault; all others are failures to fetch the keys. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof errors.JWKSTimeout) return true
  return !(error instanceof errors.JOSEError) || error.code === 'ERR_JOSE_GENERIC'
}
