import type Stripe from 'stripe'
import type { Core } from '../core.ts'
import { createDisputeObject, createDisputeTransaction } from '../objects/dispute.ts'
import type { Payments } from './payments.ts'
import { isOver, type Subscriptions } from './subscriptions.ts'

export type Disputes = ReturnType<typeof createDisputes>

/** Disputes of charges: an inquiry costs nothing, a dispute withdraws the money until it is won. */
export function createDisputes(core: Core, payments: Payments, subscriptions: Subscriptions) {
  const { objects, timeline, events } = core
  return { open, escalate, win, lose, closeInquiry }

  function open(charge: Stripe.Charge, { isInquiry = false } = {}): Stripe.Dispute {
    const dispute = createDisputeObject(newId('du'), charge, isInquiry)
    objects.add('dispute', dispute, charge.livemode)
    charge.disputed = true
    events.emit('charge.dispute.created', dispute)
    if (!isInquiry) withdraw(dispute)
    return dispute
  }

  /** An inquiry becomes a dispute. */
  function escalate(dispute: Stripe.Dispute) {
    expectStatus(dispute, 'warning_needs_response')
    events.update('charge.dispute.updated', dispute, () => {
      dispute.status = 'needs_response'
      dispute.is_charge_refundable = false
    })
    withdraw(dispute)
  }

  function withdraw(dispute: Stripe.Dispute) {
    move(dispute, 'withdrawn')
    events.emit('charge.dispute.funds_withdrawn', dispute)
    if (core.account.cancelsOnDispute) cancelSubscription(dispute)
  }

  function win(dispute: Stripe.Dispute) {
    expectStatus(dispute, 'needs_response')
    dispute.status = 'won'
    move(dispute, 'reinstated')
    events.emit('charge.dispute.funds_reinstated', dispute)
    events.emit('charge.dispute.closed', dispute)
  }

  function lose(dispute: Stripe.Dispute) {
    expectStatus(dispute, 'needs_response')
    dispute.status = 'lost'
    events.emit('charge.dispute.closed', dispute)
  }

  function closeInquiry(dispute: Stripe.Dispute) {
    expectStatus(dispute, 'warning_needs_response')
    dispute.status = 'warning_closed'
    events.emit('charge.dispute.closed', dispute)
  }

  function move(dispute: Stripe.Dispute, direction: 'withdrawn' | 'reinstated') {
    const transaction = createDisputeTransaction(newId('txn'), dispute, direction)
    dispute.balance_transactions.push(transaction)
  }

  function cancelSubscription({ charge }: Stripe.Dispute) {
    const invoice = payments.invoiceOf(objects.read('charge', charge as string))
    const id = invoice?.parent?.subscription_details?.subscription
    if (id === undefined) return
    const subscription = objects.read('subscription', id as string)
    if (!isOver(subscription)) subscriptions.cancel(subscription, 'payment_disputed')
  }

  function newId(prefix: string) {
    return { id: objects.createId(prefix), created: timeline.now() }
  }

  function expectStatus({ id, status }: Stripe.Dispute, expected: Stripe.Dispute.Status) {
    if (status !== expected) throw new Error(`dispute ${id} is ${status}`)
  }
}
