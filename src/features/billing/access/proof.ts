import type { JWK } from 'jose'
import { signJwt } from '../../../lib/crypto/es256.ts'
import type { KeyRing } from '../../../lib/crypto/key-ring.ts'

/** A user's access. An end of `null` means no end. */
export type ProvenAccess = {
  userId: string
  environment: string
  /** The ends of the active entitlements by id, in ms since 1970. */
  entitlements: Record<string, number | null>
  plan: { id: string; code: string; endsAt: number | null } | null
}

/** Signs a user's access, so that an app can trust its stored copy (JWS, RFC 7515, ES256). Times are in seconds. */
export function createProofs(keys: Pick<KeyRing, 'current'>, now: () => Date) {
  return ({ userId, environment, entitlements, plan }: ProvenAccess): string => {
    const { jwk } = keys.current()
    const { kty, crv, x, y, kid } = jwk
    const publicKey = { kty, crv, x, y } as JWK
    const payload = {
      sub: userId,
      iat: Math.floor(now().getTime() / 1000),
      environment,
      entitlements: Object.fromEntries(
        Object.entries(entitlements).map(([id, end]) => [id, toSeconds(end)]),
      ),
      plan: plan && { id: plan.id, code: plan.code, exp: toSeconds(plan.endsAt) },
    }
    // Includes the key, because an app without a connection cannot fetch it.
    return signJwt({ typ: 'access+jwt', kid, jwk: publicKey }, payload, jwk)
  }
}

function toSeconds(end: number | null): number | null {
  return end === null ? null : Math.floor(end / 1000)
}
