import { DAY_MS } from '../../../lib/time/durations.ts'
import { formatOffer } from '../access/plan-matching.ts'
import type { OrderedEvent } from '../purchases/event-order.ts'
import { applyEvent } from '../purchases/fold.ts'
import { PERIOD_STARTS, PERIOD_TOLERANCE_MS } from '../purchases/periods.ts'
import type { Purchase } from '../purchases/purchase.ts'
import { isRefund } from '../purchases/refunds.ts'

/** A period of a purchase. Times in ms; amounts in thousandths of the currency. */
export type Period = {
  /** `once`: not a subscription. */
  kind: 'trial' | 'paid' | 'once'
  startsAt: number
  /** When access ends, including a grace period; for `once` the start. */
  endsAt: number
  /** The end of the paid time, without a grace period. */
  paidUntil: number
  /** The time that the payment covers, in ms: without extensions, and from the end of the last period if it was late. */
  billedMs: number
  /** As `formatOffer` writes it. */
  offer: string
  store: string
  country: string
  currency: string
  /** Null if no event has stated the price. */
  amount: number | null
  refundedAt: number | null
  refund: number
  hasFailedPayment: boolean
}

type Draft = {
  purchase: Purchase
  transactionId: string | null
  paid: OrderedEvent['paid']
  country: string | null
  isOnce: boolean
  isFamilyShared: boolean
  /** The end that the first event states, before any extension. */
  billedUntil: number | null
  refundedAt: number | null
  partlyRefundedAt: number | null
  refund: number | null
}

/** The store is expected to report a renewal within this time. */
const RENEWAL_DELAY_MS = DAY_MS
const MIN_MS = Date.UTC(2000, 0)
const MAX_MS = Date.UTC(2100, 0)
const PROMOTIONAL = 'PROMOTIONAL'

/** Computes the periods of a purchase from its events in order: from the log alone, never from the clock. */
export function computePeriods(events: OrderedEvent[]): Period[] {
  const drafts: Draft[] = []
  let purchase: Purchase | null = null
  for (const event of events) {
    purchase = applyEvent(purchase, event)
    if (startsPeriod(drafts.at(-1), purchase, event)) drafts.push(draftFrom(purchase, event))
    const current = drafts.at(-1)
    if (current) {
      current.purchase = purchase
      current.billedUntil ??= purchase.expiresAt
    }
    const draft = draftFor(drafts, event)
    if (draft) complete(draft, event, draft === current)
  }
  const last = drafts.at(-1)
  return drafts
    .filter((draft) => isPaidFor(draft) && !draft.isFamilyShared)
    .map((draft) => finish(draft, draft === last))
    .toSorted((a, b) => a.startsAt - b.startsAt)
    .map((period, at, periods) => billedFromLast(period, periods[at - 1]))
}

/** A late payment within the grace period pays for the period after the last one. */
function billedFromLast(period: Period, last: Period | undefined): Period {
  if (!last?.hasFailedPayment || last.kind !== 'paid' || period.startsAt > last.endsAt)
    return period
  const late = Math.max(0, period.startsAt - last.paidUntil)
  return { ...period, billedMs: period.billedMs + late }
}

export function endPeriodsAt(periods: Period[], replacedAt: number): Period[] {
  return periods.map((period) => {
    const end = Math.max(period.startsAt, replacedAt)
    const { endsAt, paidUntil } = period
    return { ...period, endsAt: Math.min(endsAt, end), paidUntil: Math.min(paidUntil, end) }
  })
}

/** Access given by an operator, by the provider or because of an outage is not a purchase. */
function isPaidFor(draft: Draft): boolean {
  const { store, periodType, grant, isTemporary } = draft.purchase
  const isGiven = grant !== null || isTemporary || [store, periodType].includes(PROMOTIONAL)
  const startsAt = findStart(draft)
  return !isGiven && startsAt !== null && startsAt >= MIN_MS && startsAt < MAX_MS
}

/**
 * Google does not state the start of a period that Homeport has not queried before: all periods then count as
 * equally long. Google numbers renewals from 0, as in `GPA.1..0`.
 */
function findStart({ purchase, transactionId }: Draft): number | null {
  const { purchasedAt, startedAt, expiresAt } = purchase
  const [, renewal] = /\.\.(\d+)$/.exec(transactionId ?? '') ?? []
  if (purchasedAt !== null || expiresAt === null || renewal === undefined) return purchasedAt
  return expiresAt - (expiresAt - startedAt) / (Number(renewal) + 2)
}

function startsPeriod(current: Draft | undefined, purchase: Purchase, event: OrderedEvent) {
  if (current === undefined) return true
  const { purchasedAt } = current.purchase
  if (!describesPeriod(event) || purchase.purchasedAt === purchasedAt) return false
  if (purchasedAt === null) return current.transactionId !== event.transactionId
  const [knownId, eventId] = [current.transactionId, event.transactionId]
  const areKnown = knownId !== null && eventId !== null
  const distance = Math.abs((purchase.purchasedAt ?? purchasedAt) - purchasedAt)
  if (distance <= PERIOD_TOLERANCE_MS) return areKnown && knownId !== eventId
  return !(current.purchase.stated !== null && areKnown && knownId === eventId)
}

function describesPeriod({ type, stated }: OrderedEvent): boolean {
  return PERIOD_STARTS.has(type) || stated !== null || type === 'HOMEPORT_RECONCILED'
}

function draftFrom(purchase: Purchase, event: OrderedEvent): Draft {
  const { transactionId, isFamilyShared } = event
  return {
    purchase,
    transactionId,
    paid: null,
    country: null,
    isOnce: false,
    isFamilyShared,
    billedUntil: purchase.expiresAt,
    refundedAt: null,
    partlyRefundedAt: null,
    refund: null,
  }
}

function draftFor(drafts: Draft[], { purchasedAt, transactionId }: OrderedEvent) {
  const byTime = drafts.findLast(({ purchase }) => {
    const distance = Math.abs((purchase.purchasedAt ?? Number.NaN) - (purchasedAt ?? Number.NaN))
    return distance <= PERIOD_TOLERANCE_MS
  })
  const last = drafts.at(-1)
  if (transactionId === null) return purchasedAt === null ? last : byTime
  const byTransaction = drafts.findLast((draft) => draft.transactionId === transactionId)
  if (byTime && (byTransaction === undefined || byTransaction !== last)) return byTime
  return byTransaction ?? (last?.transactionId === null ? last : undefined)
}

function complete(draft: Draft, event: OrderedEvent, isCurrent: boolean) {
  const { type, paid, country, orderedAt } = event
  draft.country ??= country
  if (describesPeriod(event)) {
    draft.transactionId ??= event.transactionId
    draft.paid ??= paid
    draft.isOnce ||= type === 'NON_RENEWING_PURCHASE'
  }
  // Stripe's events about a refund repeat the amount.
  if (draft.refundedAt !== null && event.paidBack?.amount === draft.refund) return
  const isPaidBack = isRefund(event) || event.paidBack !== null
  const paidBack = event.paidBack ?? (isPaidBack ? paid : null)
  if (paidBack !== null && paidBack.amount !== 0) draft.refund = Math.abs(paidBack.amount)
  const refundedAt = event.refundedAt ?? (isPaidBack ? orderedAt : null)
  if (type === 'REFUND_REVERSED' && event.paidBack === null)
    Object.assign(draft, { refund: null, partlyRefundedAt: null })
  // A partial refund may leave the access unchanged.
  const isPartial = isCurrent && isPaidBack && draft.purchase.refundedAt === null
  if (isPartial) draft.partlyRefundedAt = orderedAt
  if (isCurrent) draft.refundedAt = draft.purchase.refundedAt ?? draft.partlyRefundedAt
  else if (refundedAt !== null) draft.refundedAt = refundedAt
  else if (type === 'REFUND_REVERSED') draft.refundedAt = null
}

function finish(draft: Draft, isLast: boolean): Period {
  const { purchase, paid, country } = draft
  const { periodType, expiresAt, graceExpiresAt, endedAt, willRenew } = purchase
  const startsAt = findStart(draft) ?? 0
  const isOnce = draft.isOnce || expiresAt === null || periodType === 'CONSUMABLE'
  const isTrial = periodType === 'TRIAL'
  const hasFailedPayment = purchase.billingIssueDetectedAt !== null
  const isAwaited = isLast && willRenew && !hasFailedPayment && endedAt === null
  const delay = isAwaited ? RENEWAL_DELAY_MS : 0
  const end = Math.max(expiresAt ?? startsAt, graceExpiresAt ?? 0) + delay
  const upTo = (time: number) =>
    Math.min(Math.max(startsAt, Math.min(time, endedAt ?? MAX_MS)), MAX_MS)
  const amount = isTrial ? 0 : (paid?.amount ?? null)
  return {
    kind: isOnce ? 'once' : isTrial ? 'trial' : 'paid',
    startsAt,
    endsAt: isOnce ? startsAt : upTo(end),
    paidUntil: isOnce ? startsAt : upTo(expiresAt ?? startsAt),
    billedMs: isOnce ? 0 : Math.max(0, (draft.billedUntil ?? startsAt) - startsAt),
    offer: formatOffer(purchase),
    store: purchase.store ?? '',
    country: country ?? '',
    currency: paid?.currency ?? '',
    amount,
    refundedAt: amount ? draft.refundedAt : null,
    refund: amount === null ? 0 : Math.min(draft.refund ?? amount, amount),
    hasFailedPayment,
  }
}

const KINDS = ['trial', 'paid', 'once'] as const
type Row = [offer: number, kind: number, ...numbers: (number | null)[]]

/** Compact: times are in seconds, and repeated texts are stored once. */
export function encodePeriods(periods: Period[]): string {
  const traits: string[] = []
  const rows = periods.map((period): Row => {
    const { kind, startsAt, endsAt, paidUntil, amount, refundedAt, refund } = period
    const trait = JSON.stringify([period.offer, period.store, period.country, period.currency])
    if (!traits.includes(trait)) traits.push(trait)
    const start = toSeconds(startsAt)
    const row: Row = [
      traits.indexOf(trait),
      KINDS.indexOf(kind),
      start,
      toSeconds(endsAt) - start,
      toSeconds(paidUntil) - start,
      amount,
    ]
    const billed = toSeconds(startsAt + period.billedMs) - start
    const isPlain =
      refundedAt === null && !period.hasFailedPayment && billed === toSeconds(paidUntil) - start
    if (isPlain) return row
    const refunded = refundedAt === null ? null : toSeconds(refundedAt)
    return [...row, period.hasFailedPayment ? 1 : 0, refunded, refund, billed]
  })
  return JSON.stringify([traits.map((trait) => JSON.parse(trait)), rows])
}

export function decodePeriods(text: string): Period[] {
  const [traits, rows] = JSON.parse(text) as [string[][], number[][]]
  return rows.map(([trait = 0, kind = 0, start = 0, length = 0, paid = 0, ...rest]) => {
    const [offer = '', store = '', country = '', currency = ''] = traits[trait] ?? []
    const [amount = null, failed = 0, refundedAt = null, refund = 0, billed = paid] = rest as (
      | number
      | null
    )[]
    return {
      kind: KINDS[kind] ?? 'once',
      startsAt: start * 1000,
      endsAt: (start + length) * 1000,
      paidUntil: (start + paid) * 1000,
      billedMs: (billed ?? paid) * 1000,
      offer,
      store,
      country,
      currency,
      amount,
      refundedAt: refundedAt === null ? null : refundedAt * 1000,
      refund: refund ?? 0,
      hasFailedPayment: failed === 1,
    }
  })
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000)
}
