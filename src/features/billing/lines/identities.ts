import type { BillingEvent } from '../inbox/event.ts'
import { lineKeyOf, mergesIdentities } from './event-order.ts'

/** The ids that an event says are one customer. Transfers move lines between customers, they join none. */
export function idsJoinedBy(event: BillingEvent): string[] {
  const { type, appUserId, originalAppUserId, aliases, redeemedFrom, redeemedBy } = event
  if (type === 'TEST' || type === 'TRANSFER') return []
  if (type === 'PURCHASE_REDEEMED') {
    return mergesIdentities(event) ? unique([...redeemedFrom, ...redeemedBy]) : []
  }
  if (lineKeyOf(event) === null && !mergesIdentities(event)) return []
  return unique([appUserId, originalAppUserId, ...aliases].filter((id) => id !== null)).filter(
    isRealId,
  )
}

/** Ids that apps send when they know none: they would make strangers one customer. */
const PLACEHOLDER_IDS = new Set(
  'no_user null none nil (null) nan unidentified undefined unknown anonymous guest -1 0 [] {}'.split(
    ' ',
  ),
)

function isRealId(id: string): boolean {
  return !PLACEHOLDER_IDS.has(id.toLowerCase()) && id !== '[object Object]' && id.trim() !== ''
}

function unique(ids: string[]): string[] {
  return [...new Set(ids)]
}
