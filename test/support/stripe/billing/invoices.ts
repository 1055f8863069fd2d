import type Stripe from 'stripe'
import type { Core } from '../core.ts'
import { createInvoiceObject, createLineObject } from '../objects/invoice.ts'
import { HOUR } from './periods.ts'

export type Invoices = ReturnType<typeof createInvoices>

/** Invoices from their draft to their end, without payments. */
export function createInvoices({ objects, timeline, events }: Core) {
  /** Prorations that wait for the next invoice, by subscription. */
  const pending = new Map<string, Stripe.InvoiceLineItem[]>()
  const bySubscription = new Map<string, Stripe.Invoice[]>()
  return {
    recurringLines,
    prorate,
    draft,
    finalize,
    voidInvoice,
    markUncollectible,
    keepAsDraft,
    listOfSubscription: (id: string) => bySubscription.get(id) ?? [],
  }

  /** The lines of a period, for the items of a subscription. */
  function recurringLines(items: Stripe.SubscriptionItem[], isFree = false) {
    return items.map((item) => {
      const quantity = item.quantity ?? 1
      return createLineObject({
        id: objects.createId('il'),
        item,
        price: item.price,
        quantity,
        amount: isFree ? 0 : (item.price.unit_amount ?? 0) * quantity,
        period: { start: item.current_period_start, end: item.current_period_end },
        isProration: false,
      })
    })
  }

  /** Credits the rest of the period for `before`, and charges it for `after`. */
  function prorate(
    item: Stripe.SubscriptionItem,
    before: { price: Stripe.Price; quantity: number },
    after: { price: Stripe.Price; quantity: number },
    end: number,
  ) {
    const start = timeline.now()
    const rest = (end - start) / Math.max(1, end - item.current_period_start)
    const lines = [
      { ...before, sign: -1 },
      { ...after, sign: 1 },
    ].map(({ price, quantity, sign }) =>
      createLineObject({
        id: objects.createId('il'),
        item,
        price,
        quantity,
        amount: sign * Math.round((price.unit_amount ?? 0) * quantity * rest),
        period: { start, end },
        isProration: true,
      }),
    )
    const waiting = pending.get(item.subscription) ?? []
    pending.set(item.subscription, [...waiting, ...lines.filter(({ amount }) => amount !== 0)])
  }

  /** A draft with `lines` and the prorations that waited for it. */
  function draft(
    subscription: Stripe.Subscription,
    reason: Stripe.Invoice.BillingReason,
    lines: Stripe.InvoiceLineItem[],
    { isImmediate }: { isImmediate: boolean },
  ): Stripe.Invoice {
    const now = timeline.now()
    const all = [...lines, ...(pending.get(subscription.id) ?? [])]
    pending.delete(subscription.id)
    const previous = subscription.latest_invoice as string | null
    const since = previous === null ? now : objects.read('invoice', previous).period_end
    const invoice = createInvoiceObject({
      id: objects.createId('in'),
      created: now,
      subscription,
      customer: objects.customer(subscription.customer as string),
      reason,
      lines: all,
      period: { start: Math.min(since, now), end: now },
      finalizesAt: isImmediate ? null : now + HOUR,
    })
    for (const line of all) line.invoice = invoice.id
    objects.add('invoice', invoice, subscription.livemode)
    const earlier = bySubscription.get(subscription.id)
    if (earlier) earlier.push(invoice)
    else bySubscription.set(subscription.id, [invoice])
    events.emit('invoice.created', invoice)
    return invoice
  }

  /** Opens a draft for payment. */
  function finalize(invoice: Stripe.Invoice) {
    const now = timeline.now()
    const customer = objects.customer(invoice.customer as string)
    invoice.starting_balance = customer.balance
    invoice.amount_due = Math.max(0, invoice.total + customer.balance)
    invoice.amount_remaining = invoice.amount_due
    customer.balance = Math.min(0, invoice.total + customer.balance)
    Object.assign(invoice, {
      status: 'open',
      number: `${customer.invoice_prefix}-${String(customer.next_invoice_sequence).padStart(4, '0')}`,
      automatically_finalizes_at: null,
      next_payment_attempt: null,
      effective_at: now,
      ending_balance: customer.balance,
      hosted_invoice_url: `https://invoice.stripe.com/i/${invoice.id}`,
    } satisfies Partial<Stripe.Invoice>)
    customer.next_invoice_sequence = (customer.next_invoice_sequence ?? 1) + 1
    invoice.status_transitions.finalized_at = now
    events.emit('invoice.finalized', invoice)
  }

  function voidInvoice(invoice: Stripe.Invoice) {
    end(invoice, 'void')
    invoice.status_transitions.voided_at = timeline.now()
    events.emit('invoice.voided', invoice)
  }

  function markUncollectible(invoice: Stripe.Invoice) {
    end(invoice, 'uncollectible')
    invoice.status_transitions.marked_uncollectible_at = timeline.now()
    events.emit('invoice.marked_uncollectible', invoice)
  }

  function end(invoice: Stripe.Invoice, status: 'void' | 'uncollectible') {
    if (invoice.status !== 'open') throw new Error(`invoice ${invoice.id} is ${invoice.status}`)
    Object.assign(invoice, { status, auto_advance: false, next_payment_attempt: null })
  }

  /** Turns off automatic finalization. */
  function keepAsDraft(invoice: Stripe.Invoice) {
    Object.assign(invoice, {
      auto_advance: false,
      automatically_finalizes_at: null,
      next_payment_attempt: null,
    })
  }
}
