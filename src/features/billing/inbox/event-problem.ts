import { isAboutAccess, RANK } from '../purchases/event-types.ts'

/** Why an event has no effect although its type can change access, and its outcome in the log. */
export type EventProblem = { outcome: 'failed' | 'ignored'; reason: string }

type ReadFields = {
  type: string
  productId: string | null
  expiresAt: number | null
  appUserId: string | null
  originalAppUserId: string | null
  aliases: string[]
  transferredFrom: string[]
  transferredTo: string[]
}

/** These events set the end of a subscription. */
const NEEDS_END = new Set([
  'INITIAL_PURCHASE',
  'RENEWAL',
  'SUBSCRIPTION_EXTENDED',
  'HOMEPORT_RECONCILED',
])
const NEEDS_PRODUCT = new Set(['INITIAL_PURCHASE', 'RENEWAL', 'NON_RENEWING_PURCHASE'])

export function unreadable(field: string): EventProblem {
  return failed(`The field ${field} is missing or cannot be read.`)
}

function failed(reason: string): EventProblem {
  return { outcome: 'failed', reason }
}

function isTooLong(value: unknown): boolean {
  return Array.isArray(value) && value.length > MAX_LIST_LENGTH
}

/** Limited by the number of parameters that a query allows. */
export const MAX_LIST_LENGTH = 4_000
/** Lists of ids that decide who owns a purchase. */
const LISTS = ['transferred_from', 'transferred_to', 'aliases', 'redeemed_from', 'redeemed_by']

/** `fields`: as received, in the billing provider's format. */
export function findProblem(
  event: ReadFields,
  fields: Record<string, unknown>,
): EventProblem | null {
  const tooLong = LISTS.find((name) => isTooLong(fields[name]))
  if (tooLong !== undefined && isAboutAccess(event.type))
    return failed(`The field ${tooLong} has more than ${MAX_LIST_LENGTH} ids.`)
  const end = fields['expiration_at_ms']
  const { type, productId, transferredFrom, transferredTo } = event
  const isOwn = type.startsWith('HOMEPORT_')
  if (type === 'TRANSFER' && (transferredFrom.length === 0 || transferredTo.length === 0))
    return ignored('The transfer does not name both users.')
  const hasUser = [event.appUserId, event.originalAppUserId, ...event.aliases].some(Boolean)
  if (RANK.has(type) && !isOwn && !hasUser) return ignored('The event names no user.')
  if (NEEDS_PRODUCT.has(type) && productId === null) return ignored('The event names no product.')
  const mayLackEnd = !NEEDS_END.has(type) && (end === null || end === undefined)
  const setsEnd = NEEDS_END.has(type) || type === 'NON_RENEWING_PURCHASE'
  if (!setsEnd || event.expiresAt !== null || mayLackEnd) return null
  return unreadable(isOwn ? 'expires_date' : 'expiration_at_ms')
}

function ignored(reason: string): EventProblem {
  return { outcome: 'ignored', reason }
}
