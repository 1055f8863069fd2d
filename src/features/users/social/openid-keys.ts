import { errors, type JWTVerifyGetKey } from 'jose'
import { isSecureInTransit } from '../../../config/values.ts'
import { remoteKeys } from '../../../lib/crypto/remote-keys.ts'
import { fetchBounded, readTextCapped } from '../../../lib/net/bounded-fetch.ts'
import { HOUR_MS, MINUTE_MS } from '../../../lib/time/durations.ts'

type OpenIdProvider = { jwksUrl: string; algorithms: string[] }

/** Signatures with a public key that all platforms verify; no symmetric ones. */
export const OPENID_ALGORITHMS = ['RS256', 'ES256', 'PS256', 'EdDSA']
/** The keys of all providers are fetched again after this time. */
export const KEYS_LIFETIME_MS = 10 * MINUTE_MS

const DISCOVERY_LIFETIME_MS = HOUR_MS
/** Shorter than the time after which clients retry. */
const FAILURE_LIFETIME_MS = 5_000
const TIMEOUT_MS = 5_000
const MAX_DISCOVERY_BYTES = 256 * 1024

/** The issuer's keys, found through its discovery document, which is fetched when first needed. */
export function createOpenIdKeys(issuer: string, now: () => Date): JWTVerifyGetKey {
  let known: { provider: Promise<OpenIdProvider>; until: number } | null = null
  let keySet: { url: string; keys: JWTVerifyGetKey } | null = null
  return async (header, token) => {
    const { jwksUrl, algorithms } = await discover()
    const isIdToken = header.typ === undefined || header.typ.toLowerCase() === 'jwt'
    if (!isIdToken || !algorithms.includes(header.alg)) {
      throw new errors.JOSEAlgNotAllowed('the id token has an unexpected type or algorithm')
    }
    if (keySet?.url !== jwksUrl) {
      keySet = { url: jwksUrl, keys: remoteKeys(jwksUrl, KEYS_LIFETIME_MS) }
    }
    return keySet.keys(header, token)
  }

  function discover(): Promise<OpenIdProvider> {
    const at = now().getTime()
    // A clock that was ahead may have set a time in the far future.
    const left = known === null ? 0 : known.until - at
    if (known !== null && left > 0 && left <= DISCOVERY_LIFETIME_MS) return known.provider
    const provider = discoverOpenId(issuer)
    const entry = { provider, until: at + DISCOVERY_LIFETIME_MS }
    known = entry
    provider.catch(() => {
      entry.until = now().getTime() + FAILURE_LIFETIME_MS
    })
    return provider
  }
}

/** Throws an error that names the problem. https://openid.net/specs/openid-connect-discovery-1_0.html */
export async function discoverOpenId(issuer: string): Promise<OpenIdProvider> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const reply = await fetchBounded(url, {
    redirect: 'manual',
    headers: { accept: 'application/json' },
    timeoutMs: TIMEOUT_MS,
  })
  if (reply.status !== 200) {
    await reply.body?.cancel()
    throw new Error(`${url} answers ${reply.status}`)
  }
  const text = await readTextCapped(reply, MAX_DISCOVERY_BYTES)
  if (text === null) throw new Error(`${url} is too long, or compressed`)
  const found = parseObject(text)
  if (found === null) throw new Error(`${url} is not a JSON object`)
  if (found['issuer'] !== issuer) {
    const name = JSON.stringify(found['issuer'])?.slice(0, 200)
    throw new Error(`${url} is for the issuer ${name}, which differs from OIDC_ISSUER`)
  }
  const jwksUrl = String(found['jwks_uri'])
  const parsed = URL.parse(jwksUrl)
  if (parsed === null || !isSecureInTransit(parsed)) throw new Error(`${url} has no https jwks_uri`)
  const supported = found['id_token_signing_alg_values_supported'] ?? ['RS256']
  const algorithms = OPENID_ALGORITHMS.filter((name) => [supported].flat().includes(name))
  if (algorithms.length === 0) {
    throw new Error(`${url} lists none of the algorithms ${OPENID_ALGORITHMS.join(', ')}`)
  }
  return { jwksUrl, algorithms }
}

/** Null if the text is not a JSON object. */
export function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : null
  } catch {
    return null
  }
}
