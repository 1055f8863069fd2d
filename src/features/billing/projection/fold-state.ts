import { compareEvents, type EventOrder, type OrderedEvent } from '../purchases/event-order.ts'
import { CLAIM_WITHDRAWN, PURCHASE_CLAIMED } from '../purchases/event-types.ts'
import { applyEvent, isOverriddenBy } from '../purchases/fold.ts'
import { findOwnerId, type OwnerMention } from '../purchases/ownership.ts'
import { EMPTY_PURCHASE, type Purchase } from '../purchases/purchase.ts'

/** A purchase, with the state that is needed to add the next event. */
export type FoldState = {
  purchase: Purchase
  last: EventOrder
  /** The first store that an event of the purchase has named. */
  store: string | null
  /** Events since the last checkpoint, and the owner mentions among them. */
  count: number
  mentions: OwnerMention[]
}

/** As stored in `subscriptions.state` and `line_checkpoints.state`, without null fields. Older states lack `tail`. */
export type StoredPurchase = {
  line: Partial<Purchase>
  /** Null before the purchase is folded for the first time. */
  last: EventOrder | null
  store?: string
  tail?: { count: number; names: OwnerMention[] }
  /** The log has events that this state lacks: see `stale_lines`. */
  stale?: true
}

export function addEvent(before: FoldState | null, event: OrderedEvent): FoldState {
  const mention = findMention(event)
  const mentions = before?.mentions ?? []
  const latest = mentions.at(-1)
  const isSameMention =
    mention === null ||
    (latest?.name === mention.name &&
      latest.isHint === mention.isHint &&
      latest.isSubmission === mention.isSubmission &&
      latest.withdraws === mention.withdraws)
  return {
    purchase: applyEvent(before?.purchase ?? null, event),
    last: toOrder(event),
    store: before?.store ?? event.store,
    count: (before?.count ?? 0) + 1,
    mentions: isSameMention ? mentions : [...mentions, mention],
  }
}

/** The owner that an event names, or the claim that it withdraws; null for neither. */
export function findMention(event: OrderedEvent): OwnerMention | null {
  if (event.type === CLAIM_WITHDRAWN && event.withdrawnClaim !== null) {
    return { ...toOrder(event), name: '', withdraws: event.withdrawnClaim }
  }
  const name = findOwnerId(event)
  if (name === null) return null
  return {
    ...toOrder(event),
    name,
    ...(event.isSuggestedOwner ? { isHint: true } : {}),
    ...(event.type === PURCHASE_CLAIMED ? { isSubmission: true } : {}),
  }
}

/** False at the time of the last checkpoint, because no events are added to a stored checkpoint. */
export function isNext({ last, count }: FoldState, event: OrderedEvent): boolean {
  return compareEvents(last, event) < 0 && (count > 0 || last.orderedAt < event.orderedAt)
}

/** Adds a late event that the last one overrides. Null if the event may matter: the purchase must be folded again. */
export function addOverridden(before: FoldState, event: OrderedEvent): FoldState | null {
  const { purchase, last, store, count, mentions } = before
  // Store snapshots are compared with the period, and an unpaid renewal at Stripe may have no effect.
  const isPlain = purchase.stated === null && event.stated === null && store !== 'STRIPE'
  // The last event may be about a period that had ended when another one began.
  const isOfCurrentPeriod =
    last.purchasedAt === purchase.purchasedAt && (event.purchasedAt ?? 0) <= (last.purchasedAt ?? 0)
  if (!isPlain || !isOfCurrentPeriod) return null
  const [first, ...otherMentions] = mentions
  const isBetween = first && compareEvents(first, event) < 0 && compareEvents(event, last) < 0
  const isSameOwner = first?.name === findOwnerId(event) && otherMentions.length === 0
  const isSameStore = event.store === null || event.store === store
  if (!isBetween || !isSameOwner || !isSameStore || !isOverriddenBy(event, last)) return null
  return { ...before, count: count + 1 }
}

export function atCheckpoint(state: FoldState): FoldState {
  return { ...state, count: 0, mentions: [] }
}

export function readPurchase({ line }: StoredPurchase): Purchase {
  return { ...EMPTY_PURCHASE, ...line }
}

export function toStored({ purchase, last, store, count, mentions }: FoldState): StoredPurchase {
  const known = Object.entries(purchase).filter(([, value]) => value !== null)
  const tail = { count, names: mentions }
  return { line: Object.fromEntries(known), last, ...(store === null ? {} : { store }), tail }
}

/** The columns of a purchase: its state, and when its current period began. */
export function toRow(state: StoredPurchase) {
  return { state, latestAt: state.line.purchasedAt ?? state.line.startedAt ?? 0 }
}

/** Null for a state of an older version: the purchase must be folded again. */
export function fromStored(stored: StoredPurchase): FoldState | null {
  const { last, store = null, tail } = stored
  if (tail === undefined || last === null) return null
  const { count, names: mentions } = tail
  return { purchase: readPurchase(stored), last, store, count, mentions }
}

/** Whether two states describe the same purchase after the same events, regardless of checkpoints. */
export function isSameState(a: StoredPurchase, b: StoredPurchase): boolean {
  const comparableState = ({ line, last, store }: StoredPurchase) =>
    JSON.stringify([line, last, store])
  return comparableState(a) === comparableState(b)
}

function toOrder({ orderedAt, purchasedAt, type, id }: EventOrder): EventOrder {
  return { orderedAt, purchasedAt, type, id }
}
