import { activeEntitlementIds, type PurchaseAccess } from '../purchases/access.ts'
import { isEffectivelyForever, isoTime } from './access-explanation.ts'

/** A user's access, as other servers receive it. Times are ISO 8601; `expiresAt` null: never, or no purchase. */
export type AccessState = {
  active: boolean
  plan: string | null
  entitlements: string[]
  /** The best purchase. */
  productId: string | null
  store: string | null
  status: string | null
  willRenew: boolean
  expiresAt: string | null
}

/** `purchases`: best first. */
export function computeAccessState(purchases: PurchaseAccess[], plan: string | null): AccessState {
  const [best] = purchases
  const active = best?.active ?? false
  const end = best?.effectiveEnd ?? null
  return {
    active,
    plan,
    entitlements: activeEntitlementIds(purchases),
    productId: best?.productId ?? null,
    store: best?.store ?? null,
    status: best?.status ?? null,
    willRenew: active && (best?.willRenew ?? false),
    expiresAt: isoTime(end),
  }
}

/** When the access that purchases give next changes without an event; null: never. `now` in ms. */
export function findNextChange(purchases: PurchaseAccess[], now: number): Date | null {
  const times = purchases.flatMap(({ effectiveEnd, expiresAt, graceExpiresAt }) => [
    effectiveEnd,
    expiresAt,
    graceExpiresAt,
  ])
  const later = times.filter((time): time is number => time !== null && time > now)
  if (later.length === 0) return null
  const next = Math.min(...later)
  return isEffectivelyForever(next) ? null : new Date(next)
}
