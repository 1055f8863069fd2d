import { findHashKind, verificationMs } from '../../../lib/passwords/imported-password-hashes.ts'
import { isOwnHash } from '../../../lib/passwords/passwords.ts'

/** How much longer imported hashes may make a failed sign-in, in ms. */
const MAX_TOTAL_MS = 1_500
const MAX_KINDS = 16

/** Whether an account's hash was imported and has never matched: a match replaces it with a hash of our own. */
export function canReplace(stored: string | null | undefined, hash: string, kinds: Set<string>) {
  if (!stored || stored === hash || isOwnHash(stored)) return false
  return kinds.has(findHashKind(stored))
}

/** The kind that `hash` would add to `kinds`; null if it adds none, undefined if sign-ins would become too slow. */
export function findNewKind(hash: string, kinds: Set<string>): string | null | undefined {
  const kind = findHashKind(hash)
  if (kinds.has(kind)) return null
  if (kinds.size >= MAX_KINDS) return undefined
  const total = [...kinds, kind].reduce((sum, one) => sum + verificationMs(one), 0)
  return total > MAX_TOTAL_MS ? undefined : kind
}
