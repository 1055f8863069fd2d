import { toBase64Url, utf8 } from '../bytes.ts'
import type { Subscription } from '../models.ts'

const SECRET = new Uint8Array(32).fill(7)

/** Signs a user's access, as the server does. `now` in ms. */
export async function signProof(userId: string, subscription: Subscription, now: number) {
  const { getPublicKey, sign } = await import('../p256.ts')
  const { environment, entitlements, subscriptions, plan } = subscription
  const active = entitlements.filter((entitlement) => entitlement.active)
  const [best] = subscriptions
  const payload = {
    sub: userId,
    iat: Math.floor(now / 1000),
    environment,
    entitlements: Object.fromEntries(
      active.map(({ id, expiresAt }) => [id, toSeconds(expiresAt)] as const),
    ),
    plan: plan && {
      id: plan._id,
      code: plan.code,
      exp: plan.code === 'free' ? null : toSeconds(best?.effectiveEndAt ?? null),
    },
  }
  const { x, y } = getPublicKey(SECRET)
  const jwk = { crv: 'P-256', kty: 'EC', x: toBase64Url(x), y: toBase64Url(y) }
  const header = { alg: 'ES256', typ: 'access+jwt', kid: 'fake', jwk }
  const text = [header, payload].map((part) => toBase64Url(utf8(JSON.stringify(part)))).join('.')
  return `${text}.${toBase64Url(sign(SECRET, utf8(text)))}`
}

function toSeconds(time: string | null): number | null {
  return time === null ? null : Math.floor(Date.parse(time) / 1000)
}
