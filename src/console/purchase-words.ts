import type { AccessStatus } from '../lib/access-status.ts'
import { PLATFORM_NAMES } from '../lib/app-platforms.ts'
import { fieldWords } from './billing-words.ts'
import { countryName, words } from './format.ts'
import type { Tone } from './ui/parts.tsx'

type Origin = {
  source: 'store' | 'provider' | 'granted'
  isClaimed: boolean
  link: { id: string; by: string } | null
}

/** Active, although payment has failed. */
const AT_RISK = new Set(['in_billing_retry', 'in_grace_period'])

export function storeName(store: string | null): string {
  if (store === null) return 'Unknown store'
  const name = fieldWords('store', store)
  return name === store ? words(store) : String(name)
}

/** The store that operators can ask about a purchase. */
export function nameToAsk(store: string | null): string {
  return store === 'PLAY_STORE' ? 'Google Play' : 'the App Store'
}

export function statusName(status: string): string {
  return status.replaceAll('_', ' ')
}

/** Access that has ended is no fault, so it is not red. */
export function toneOf({ active, status }: { active: boolean; status: string }): Tone {
  if (!active) return 'plain'
  return AT_RISK.has(status) ? 'warn' : 'good'
}

/** Who has reported the purchase. */
export function sourceName({ source, store }: Origin & { store: string | null }): string {
  if (source === 'granted') return 'Granted by support'
  return source === 'provider' ? 'Billing provider' : `Direct from ${storeName(store)}`
}

/** How the purchase got its owner; null if the provider has assigned it, as is usual. */
export function claimName({ source, isClaimed, link }: Origin): string | null {
  if (source === 'granted') return 'no purchase'
  if (link !== null) return `linked by ${link.by}`
  if (isClaimed) return 'claimed by the user'
  return source === 'store' ? 'assigned at purchase, not yet claimed' : null
}

/** What a status is called, and its color. Access that has ended is no fault, so it is not red. */
export const ACCESS: Record<AccessStatus, [name: string, tone: Tone]> = {
  paying: ['Paying', 'good'],
  trial: ['Trial', 'good'],
  billing_issue: ['Payment issue', 'warn'],
  cancelled: ['Cancelled, still active', 'warn'],
  granted: ['Granted', 'good'],
  expired: ['Expired', 'plain'],
  none: ['No subscription', 'plain'],
}

/** `iOS, Brazil`; empty if neither is known. */
export function placeName(platform: string | null, country: string | null): string {
  return [platform && (PLATFORM_NAMES[platform] ?? platform), country && countryName(country)]
    .filter(Boolean)
    .join(', ')
}
