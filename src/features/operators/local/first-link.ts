import { equalInConstantTime } from '../../../lib/crypto/hash.ts'
import { LINK_LIFETIME_MS, newToken } from '../accounts.ts'

/** An operator who does not exist yet. */
export type FirstOperator = { id: string; name: string }

export type FirstLink = ReturnType<typeof createFirstLink>

/** The link that creates the first operator. It exists in memory only, so it ends with the process. */
export function createFirstLink({ now, newId }: { now: () => Date; newId: () => string }) {
  let current: { token: string; expiresAt: number; operator: FirstOperator } | null = null
  return { offer, find }

  /** Returns the token of the link, which replaces an earlier one. */
  function offer(name: string): string {
    const token = newToken()
    const expiresAt = now().getTime() + LINK_LIFETIME_MS
    current = { token, expiresAt, operator: { id: newId(), name } }
    return token
  }

  function find(token: string): FirstOperator | null {
    if (current === null || !equalInConstantTime(token, current.token)) return null
    return current.expiresAt > now().getTime() ? current.operator : null
  }
}
