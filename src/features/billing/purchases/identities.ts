import type { BillingEvent } from '../inbox/event.ts'
import { mergesIdentities, purchaseKeyOf } from './event-order.ts'

/** The ids that an event joins into one customer. Transfers move purchases between customers but join none. */
export function idsJoinedBy(event: BillingEvent): string[] {
  const { type, appUserId, originalAppUserId, aliases, redeemedFrom, redeemedBy } = event
  if (type === 'PURCHASE_REDEEMED') {
    return mergesIdentities(event) ? unique([...redeemedFrom, ...redeemedBy]) : []
  }
  if (purchaseKeyOf(event) === null && !mergesIdentities(event)) return []
  return unique([appUserId, originalAppUserId, ...aliases].filter((id) => id !== null)).filter(
    isRealId,
  )
}

/** Ids that apps send when no user is signed in: they would join unrelated users into one customer. */
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
