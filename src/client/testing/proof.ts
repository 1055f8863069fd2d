import { p256 } from '@noble/curves/nist.js'
import type { Subscription } from '../models.ts'

const SECRET = p256.utils.randomSecretKey(new Uint8Array(48).fill(7))
const PUBLIC = p256.getPublicKey(SECRET, false)
const JWK = {
  crv: 'P-256',
  kty: 'EC',
  x: encode(PUBLIC.subarray(1, 33)),
  y: encode(PUBLIC.subarray(33)),
}

/** Signs what a user has access to, as the server does. `now` in ms. */
export function signProof(userId: string, subscription: Subscription, now: number): string {
  const { environment, entitlements, subscriptions, plan } = subscription
  const active = entitlements.filter((one) => one.active)
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
  const header = { alg: 'ES256', typ: 'access+jwt', kid: 'fake', jwk: JWK }
  const text = [header, payload].map((part) => encode(toBytes(JSON.stringify(part)))).join('.')
  return `${text}.${encode(p256.sign(toBytes(text), SECRET))}`
}

function toSeconds(time: string | null): number | null {
  return time === null ? null : Math.floor(Date.parse(time) / 1000)
}

function toBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function encode(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes))
  return text.replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '')
}
