import { sha256 } from '../../../lib/crypto/hash.ts'
import type { Json } from '../../../lib/text/json.ts'
import type { Delivery } from '../../billing/inbox/event.ts'
import { redactForLog } from '../json.ts'
import type { PlayAnswer, PlayItem, PlayState } from './api/answer.ts'
import type { PlayReply } from './api/play-store.ts'
import { playEvent, type SnapshotDocument } from './event.ts'

/** A product as of the last response. Times in ms. */
export type KnownItem = Pick<PlayItem, 'productId' | 'orderId' | 'nextProductId' | 'quantity'> & {
  line: string
  state: PlayState
  environment: PlayAnswer['environment']
  periodStartedAt: number | null
  /** Without a grace period. */
  periodEndsAt: number | null
}

type SnapshotInput = PlayReply & {
  answer: PlayAnswer
  askedAt: number
  /** The time that orders the events: later than that of all earlier responses. */
  orderedAt: number
  packageName: string
  tokenHash: string
  known: KnownItem[]
  /** The owner of the main product, if Google names another user; else null. */
  mainOwner: string | null
  /** The owner of the purchase that this one replaces; null if it has none. */
  inheritedOwner: string | null
}

const UNPAID: PlayState[] = ['PENDING', 'PENDING_PURCHASE_CANCELED']
const INTERRUPTED: PlayState[] = ['ON_HOLD', 'PAUSED']

/**
 * Returns one event per product, and what is then known. A product keeps its `line` as long as the purchase exists; a
 * product that replaces another takes over its `line`.
 */
export function readSnapshots(input: SnapshotInput): {
  deliveries: Delivery[]
  items: KnownItem[]
} {
  const { answer, known, tokenHash, askedAt } = input
  const hasOrder = answer.items.some(({ orderId }) => orderId !== null)
  // A one-time product that was never paid for is `CANCELLED`, too.
  const isGivenUp = answer.state === 'CANCELLED' && known.length === 0 && !hasOrder
  if (UNPAID.includes(answer.state) || isGivenUp) return { deliveries: [], items: known }
  const paid = answer.items.filter(({ orderId }) => orderId !== null || !hasOrder)
  const isPaid = ({ productId }: KnownItem) => paid.some((item) => item.productId === productId)
  const missing = known.filter((item) => !isPaid(item) && item.state !== 'EXPIRED')
  const arrived = paid.filter((item) => !known.some((one) => one.productId === item.productId))
  const base =
    known[0]?.line.split('#')[0] ?? paid[0]?.orderId?.split('..')[0] ?? `token:${tokenHash}`
  const current = paid.map((item, at) => {
    const before = known.find((one) => one.productId === item.productId) ?? replacedBy(item)
    const isMain = known.length === 0 && at === 0
    return toEvent(item, before, before?.line ?? (isMain ? base : `${base}#${item.productId}`))
  })
  const removed = missing
    .filter(({ line }) => !current.some(({ after }) => after.line === line))
    .map((before) => ({ before, after: { ...before, state: 'EXPIRED' as const } }))
  const others = known.filter(
    ({ line }) => ![...current, ...removed].some(({ after }) => after.line === line),
  )
  return {
    deliveries: [
      ...current.map(({ before, after, item }) => deliver(after, chooseType(before, item, answer))),
      ...removed.map(({ after }) => deliver(after, 'EXPIRATION', true)),
    ],
    items: [...[...current, ...removed].map(({ after }) => after), ...others],
  }

  function replacedBy(item: PlayItem): KnownItem | undefined {
    const isOnlyChange = missing.length === 1 && arrived.length === 1
    return missing.find((one) => one.nextProductId === item.productId || isOnlyChange)
  }

  function toEvent(item: PlayItem, before: KnownItem | undefined, line: string) {
    const { productId, orderId, nextProductId, quantity } = item
    const { state, environment } = answer
    const isSamePeriod = before?.orderId === orderId
    const hasGrace = state === 'IN_GRACE_PERIOD' || state === 'ON_HOLD'
    const after: KnownItem = {
      productId,
      orderId,
      nextProductId,
      quantity,
      line,
      state,
      environment,
      periodStartedAt: isSamePeriod ? before.periodStartedAt : findPeriodStart(item, before),
      periodEndsAt: isSamePeriod && hasGrace ? before.periodEndsAt : item.endsAt,
    }
    return { item, before, after }
  }

  /** Google states only the end of a period. Renewals have an order id such as `GPA.1..0`. */
  function findPeriodStart({ orderId }: PlayItem, before: KnownItem | undefined): number | null {
    if (before === undefined) return orderId?.includes('..') ? null : answer.startedAt
    if (INTERRUPTED.includes(before.state)) return askedAt
    return before.periodEndsAt === null ? askedAt : Math.min(before.periodEndsAt, askedAt)
  }

  function deliver(item: KnownItem, type: string, isRemoved = false): Delivery {
    const { packageName, kind, reply, inheritedOwner, orderedAt } = input
    const { line, productId, periodStartedAt, periodEndsAt } = item
    // Google still names the user of the first purchase. The main product has its own events about its owner.
    const mainOwner = line === known[0]?.line ? null : input.mainOwner
    const document: SnapshotDocument = {
      packageName,
      tokenHash,
      askedAt,
      ...(orderedAt === askedAt ? {} : { orderedAt }),
      type,
      line,
      productId,
      periodStartedAt,
      periodEndsAt,
      ...(inheritedOwner === null ? {} : { userId: inheritedOwner }),
      ...(mainOwner === null ? {} : { mainOwner }),
      ...(isRemoved ? { isRemoved } : {}),
      kind,
      reply: redactForLog(
        mainOwner === null && inheritedOwner === null ? reply : withoutUsers(reply),
      ),
    }
    const content = [
      line,
      isRemoved,
      inheritedOwner,
      reply,
      ...(mainOwner === null ? [] : [mainOwner]),
    ]
    const hash = sha256(JSON.stringify(content), 'hex')
    const bytes = Buffer.from(JSON.stringify(document))
    return { provider: 'play_store', event: playEvent(document), bytes, hash }
  }
}

/** The event names only its own user: another user's id would remain after that user's deletion. */
function withoutUsers(reply: Json): Json {
  const { externalAccountIdentifiers: _own, outOfAppPurchaseContext: _former, ...others } = reply
  return others
}

const TYPES: Partial<Record<PlayState, string>> = {
  CANCELED: 'CANCELLATION',
  IN_GRACE_PERIOD: 'BILLING_ISSUE',
  ON_HOLD: 'EXPIRATION',
  PAUSED: 'EXPIRATION',
  EXPIRED: 'EXPIRATION',
  PURCHASED: 'NON_RENEWING_PURCHASE',
  CANCELLED: 'REFUND',
}

/** What happened since the last response. Of several changes, the history shows only the last one. */
function chooseType(before: KnownItem | undefined, item: PlayItem, { state }: PlayAnswer): string {
  if (state !== 'ACTIVE') {
    return before?.state === state ? 'HOMEPORT_RECONCILED' : (TYPES[state] ?? 'HOMEPORT_RECONCILED')
  }
  if (before === undefined) return item.orderId?.includes('..') ? 'RENEWAL' : 'INITIAL_PURCHASE'
  if (before.orderId !== item.orderId) return 'RENEWAL'
  if (before.state === 'CANCELED') return 'UNCANCELLATION'
  if (before.state !== 'ACTIVE') return 'RENEWAL'
  if (before.nextProductId !== item.nextProductId) return 'PRODUCT_CHANGE'
  const isExtended = (item.endsAt ?? 0) > (before.periodEndsAt ?? 0)
  return isExtended ? 'SUBSCRIPTION_EXTENDED' : 'HOMEPORT_RECONCILED'
}

export function toPurchaseKey({ environment, line }: KnownItem): string {
  return `${environment}|${line}`
}
