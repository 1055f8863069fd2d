import { toBase64Url } from './bytes.ts'
import type { Subscription } from './models.ts'

/** The claims that the server has signed. Ends are in seconds since 1970; null: no end. */
type Claims = {
  sub: string
  /** When it was signed, in seconds. */
  iat: number
  environment: string
  entitlements: Record<string, number | null>
  plan: { id: string; code: string; exp: number | null } | null
}

type PublicJwk = Record<'kty' | 'crv' | 'x' | 'y', string>

/**
 * Returns the claims of a subscription's proof (JWS, ES256); null if the signature does not match its key, the key is
 * not trusted, or the proof belongs to another user or to test purchases. `trustedKeys`: RFC 7638 thumbprints;
 * undefined trusts any key.
 */
export async function readProof(
  proof: string | undefined,
  userId: string,
  trustedKeys: string[] | undefined,
): Promise<Claims | null> {
  try {
    const [header = '', payload = '', signature = ''] = (proof ?? '').split('.')
    const { alg, typ, jwk } = JSON.parse(toText(header)) as Record<'alg' | 'typ', string> & {
      jwk: PublicJwk
    }
    const isTrusted = !trustedKeys || trustedKeys.includes(await thumbprint(jwk))
    if (alg !== 'ES256' || typ !== 'access+jwt' || !isTrusted) return null
    if (!(await verify(jwk, toBytes(signature), toAscii(`${header}.${payload}`)))) return null
    const claims = JSON.parse(toText(payload)) as Claims
    return claims.sub === userId && claims.environment === 'production' ? claims : null
  } catch {
    return null
  }
}

/** The subscription as of `now` (ms): the access that the claims prove, and nothing that has ended. */
export function applyClaims(kept: Subscription, claims: Claims, now: number): Subscription {
  const isOn = (end: number | null | undefined) =>
    end === null || (end !== undefined && end * 1000 > now)
  const { plan } = claims
  const hasPlan = plan !== null && kept.plan !== null && isOn(plan.exp)
  return {
    ...kept,
    entitlements: kept.entitlements.map((entitlement) => {
      const end = claims.entitlements[entitlement.id]
      if (!entitlement.active || !isOn(end)) return { ...entitlement, active: false }
      return { ...entitlement, expiresAt: typeof end === 'number' ? toIso(end) : null }
    }),
    subscriptions: kept.subscriptions.map((purchase) => {
      const { effectiveEndAt: end, status } = purchase
      const hasEnded = end !== null && Date.parse(end) <= now
      return hasEnded && status !== 'refunded' ? { ...purchase, status: 'expired' } : purchase
    }),
    plan: hasPlan && kept.plan ? { ...kept.plan, _id: plan.id, code: plan.code } : null,
    limits: hasPlan ? kept.limits : null,
  }
}

function toIso(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}

async function verify(jwk: PublicJwk, signature: Bytes, data: Bytes): Promise<boolean> {
  const { crypto } = globalThis as { crypto?: Partial<Crypto> }
  if (!crypto?.subtle) {
    const p256 = await import('./p256.ts')
    return p256.verify({ x: toBytes(jwk.x), y: toBytes(jwk.y) }, signature, data)
  }
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const { kty, crv, x, y } = jwk
  const key = await crypto.subtle.importKey('jwk', { kty, crv, x, y }, algorithm, false, ['verify'])
  return crypto.subtle.verify(algorithm, key, signature, data)
}

async function thumbprint({ crv, kty, x, y }: PublicJwk): Promise<string> {
  const { crypto } = globalThis as { crypto?: Partial<Crypto> }
  const data = toAscii(JSON.stringify({ crv, kty, x, y }))
  const digest = crypto?.subtle
    ? new Uint8Array(await crypto.subtle.digest('SHA-256', data))
    : await (await import('./p256.ts')).digest(data)
  return toBase64Url(digest)
}

type Bytes = Uint8Array<ArrayBuffer>

function toBytes(base64url: string): Bytes {
  return toAscii(atob(base64url.replace(/-/g, '+').replace(/_/g, '/')))
}

function toAscii(text: string): Bytes {
  return Uint8Array.from(text, (character) => character.charCodeAt(0))
}

/** UTF-8 without TextDecoder, which not every React Native has. */
function toText(base64url: string): string {
  const escaped = Array.from(toBytes(base64url), (byte) => `%${byte.toString(16).padStart(2, '0')}`)
  return decodeURIComponent(escaped.join(''))
}
