import { and, asc, eq } from 'drizzle-orm'
import { type Json, toObject } from '../../../../lib/text/json.ts'
import { HOUR_MS, MINUTE_MS } from '../../../../lib/time/durations.ts'
import type { Tx } from '../../../../platform/db/db.ts'
import { retryDelay } from '../../../../platform/queue/retry-delay.ts'
import { utf8 } from '../../../billing/inbox/event-log.ts'
import { text, toList } from '../../json.ts'
import type { StripeContext } from '../context.ts'
import { toDelivery } from '../events/delivery.ts'
import type { ChargeDocument } from '../events/event.ts'
import { findTarget } from '../events/notification.ts'
import { toPurchaseKey } from '../events/snapshot.ts'
import type { KnownItem } from '../events/state.ts'
import type { StripeObject } from './objects.ts'

export type Charges = ReturnType<typeof createCharges>

/** The delays while a charge's subscription cannot be read. */
const UNKNOWN = { delays: [10_000, MINUTE_MS, 10 * MINUTE_MS], thenMs: HOUR_MS }
/** Refunds that count: a bank may take days to confirm one. */
const PAID_BACK = ['succeeded', 'pending']
/** In these states the customer's bank has not taken the money back. */
const WITHOUT_LOSS = [
  'won',
  'prevented',
  'warning_needs_response',
  'warning_under_review',
  'warning_closed',
]

/** Records refunds and disputes, which no response about a subscription mentions. */
export function createCharges({ db, api, objects, eventInbox, now }: StripeContext) {
  return { refresh }

  /** Throws `StripeApiError`. */
  async function refresh(object: StripeObject, signal?: AbortSignal) {
    const askedAt = now().getTime()
    const charge = await api.call(object.environment, `charges/${object.id}`, {
      params: { expand: ['refunds'] },
      signal,
    })
    const invoice = await findInvoice(object, charge, signal)
    const subscription = invoice === null ? null : findTarget(invoice.id, invoice.reply)
    if (invoice === null || !subscription?.id.startsWith('sub_')) {
      await db.write((tx) => objects.remove(tx, object))
      return
    }
    const isDisputed = charge['disputed'] === true && (await isLost(object, signal))
    await db.write(async (tx) => {
      const known = await objects.find(tx, subscription.id)
      if (known === null || known.askedAt === null) {
        // The refund counts once the subscription is known.
        if (known === null) await objects.enqueue(tx, object.environment, subscription)
        const dueAt = new Date(now().getTime() + retryDelay(object.attempts, UNKNOWN))
        await objects.finish(tx, object, { dueAt, attempts: object.attempts + 1 })
        return
      }
      await record(tx, object, {
        charge,
        invoice: invoice.id,
        isDisputed,
        askedAt,
        items: known.items,
      })
    })
  }

  /** Null if the charge is for something else. */
  async function findInvoice({ environment }: StripeObject, charge: Json, signal?: AbortSignal) {
    const intent = text(charge['payment_intent'])
    if (intent === null) return null
    const params = { payment: { type: 'payment_intent', payment_intent: intent } }
    const payments = await api.call(environment, 'invoice_payments', { params, signal })
    const id = text(toList(payments['data'])[0]?.['invoice'])
    return id === null
      ? null
      : { id, reply: await api.call(environment, `invoices/${id}`, { signal }) }
  }

  async function isLost({ id, environment }: StripeObject, signal?: AbortSignal) {
    const disputes = await api.call(environment, 'disputes', { params: { charge: id }, signal })
    return toList(disputes['data']).some(({ status }) => !WITHOUT_LOSS.includes(String(status)))
  }

  type Found = {
    charge: Json
    invoice: string
    isDisputed: boolean
    askedAt: number
    items: StripeObject['items']
  }

  async function record(tx: Tx, object: StripeObject, found: Found) {
    const { charge, invoice, isDisputed, askedAt, items } = found
    const currency = String(charge['currency'] ?? '').toUpperCase()
    const refunds = toList(toObject(charge['refunds'])['data'])
    const refunded = refunds
      .filter(({ status }) => PAID_BACK.includes(String(status)))
      .reduce((sum, { amount }) => sum + Number(amount ?? 0), 0)
    const charged = Number(charge['amount'] ?? 0)
    const isPaidBack = isDisputed || (refunded > 0 && refunded >= charged)
    // A part that was pending may have been counted.
    const hasFailed = refunds.length > 0 && refunded === 0
    const isReversed = object.isPaidBack || hasFailed
    const change = isPaidBack ? 'REFUND' : isReversed ? 'REFUND_REVERSED' : null
    const type = change ?? (refunded > 0 ? 'STRIPE_PARTIAL_REFUND' : null)
    const isNew = !isPaidBack || !object.isPaidBack
    for (const item of type !== null && isNew ? items : []) {
      const share = (await findShare(tx, object, item, invoice)) ?? (items.length === 1 ? 1 : 0)
      const amount = (isDisputed ? charged : refunded) * share
      await recordEvent(tx, {
        charge: object.id,
        invoice,
        itemId: item.id,
        environment: object.environment,
        type,
        at: askedAt,
        reason: isDisputed ? 'DISPUTED' : 'CUSTOMER_SUPPORT',
        paidBack: amount === 0 ? null : { amount, currency },
      } as ChargeDocument)
    }
    await objects.finish(tx, object, {
      isPaidBack,
      items,
      askedAt: new Date(askedAt),
      dueAt: null,
      attempts: 0,
    })
  }

  /** The share of the invoice that the item counts as its payment; null if the item was not on it. */
  async function findShare(
    tx: Tx,
    { environment }: StripeObject,
    item: KnownItem,
    invoice: string,
  ): Promise<number | null> {
    const { purchaseKey, provider, orderedAt, body } = db.tables.billingEvents
    const isOfItem = eq(purchaseKey, toPurchaseKey(environment, item))
    const rows = await tx
      .select({ body })
      .from(db.tables.billingEvents)
      .where(and(isOfItem, eq(provider, 'stripe')))
      .orderBy(asc(orderedAt))
    const documents = rows.map((row) => JSON.parse(utf8(row.body)))
    return documents.find(({ invoiceId }) => invoiceId === invoice)?.share ?? null
  }

  async function recordEvent(tx: Tx, document: ChargeDocument) {
    const { at: _at, ...content } = document
    await eventInbox.recordOnce(tx, toDelivery(document, content))
  }
}
