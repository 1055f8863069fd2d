import type Stripe from 'stripe'
import type { Core } from '../core.ts'
import { createPaymentMethodObject } from '../objects/customer.ts'
import { createInvoicePaymentObject } from '../objects/invoice.ts'
import { createChargeObject, createPaymentIntentObject, declined } from '../objects/payment.ts'

/** How a payment method behaves: a bank debit settles or fails days later. */
export type CardKind = 'pays' | 'declines' | 'asks' | 'debits'
export type PaymentOutcome = 'paid' | 'failed' | 'asked' | 'processing'
export type Payments = ReturnType<typeof createPayments>

/** Payments of invoices by payment methods. */
export function createPayments({ objects, timeline, events }: Core) {
  const kinds = new Map<string, CardKind>()
  const paymentByInvoice = new Map<string, Stripe.InvoicePayment>()
  const invoiceByIntent = new Map<string, Stripe.Invoice>()
  return { addMethod, setKind, attempt, succeed, fail, chargeOf, invoiceOf, isProcessing }

  function addMethod(customer: Stripe.Customer, kind: CardKind): Stripe.PaymentMethod {
    const id = objects.createId('pm')
    const made = { id, created: timeline.now(), livemode: customer.livemode }
    const type = kind === 'debits' ? 'sepa_debit' : 'card'
    kinds.set(id, kind)
    const method = createPaymentMethodObject(made, customer.id, type)
    return objects.add('payment_method', method, customer.livemode)
  }

  function setKind(method: string, kind: CardKind) {
    kinds.set(method, kind)
  }

  /** Tries to collect an open invoice. */
  function attempt(invoice: Stripe.Invoice, method: string | null): PaymentOutcome {
    invoice.attempt_count++
    invoice.attempted = true
    if (invoice.amount_due === 0) {
      markPaid(invoice)
      return 'paid'
    }
    const intent = intentOf(invoice) ?? createIntent(invoice, method)
    intent.payment_method = method
    const kind = method === null ? 'declines' : (kinds.get(method) ?? 'pays')
    if (kind === 'pays') {
      succeed(invoice)
      return 'paid'
    }
    if (kind === 'debits') {
      intent.status = 'processing'
      return 'processing'
    }
    fail(invoice, kind === 'asks')
    return kind === 'asks' ? 'asked' : 'failed'
  }

  /** Records the payment of an open invoice. */
  function succeed(invoice: Stripe.Invoice) {
    const intent = intentOf(invoice) ?? createIntent(invoice, null)
    const charge = createChargeObject(newCharge(), intent, 'succeeded')
    objects.add('charge', charge, invoice.livemode)
    Object.assign(intent, {
      status: 'succeeded',
      amount_received: intent.amount,
      latest_charge: charge.id,
      last_payment_error: null,
      next_action: null,
    } satisfies Partial<Stripe.PaymentIntent>)
    const payment = paymentOf(invoice)
    if (payment) {
      Object.assign(payment, { status: 'paid', amount_paid: payment.amount_requested })
      payment.status_transitions.paid_at = timeline.now()
    }
    events.emit('charge.succeeded', charge)
    events.emit('payment_intent.succeeded', intent)
    markPaid(invoice)
  }

  /** Records that a payment was declined, or waits for the customer. */
  function fail(invoice: Stripe.Invoice, isAsking = false) {
    const intent = intentOf(invoice) ?? createIntent(invoice, null)
    if (isAsking) {
      intent.status = 'requires_action'
      intent.next_action = {
        type: 'redirect_to_url',
        redirect_to_url: { return_url: null, url: 'https://hooks.stripe.com/3d_secure_2' },
      }
      events.emit('invoice.payment_action_required', invoice)
      events.emit('invoice.payment_failed', invoice)
      return
    }
    const charge = createChargeObject(newCharge(), intent, 'failed')
    objects.add('charge', charge, invoice.livemode)
    Object.assign(intent, {
      status: 'requires_payment_method',
      latest_charge: charge.id,
      last_payment_error: declined(charge.id),
      next_action: null,
    } satisfies Partial<Stripe.PaymentIntent>)
    events.emit('charge.failed', charge)
    events.emit('invoice.payment_failed', invoice)
  }

  function markPaid(invoice: Stripe.Invoice) {
    Object.assign(invoice, {
      status: 'paid',
      amount_paid: invoice.amount_due,
      amount_remaining: 0,
      auto_advance: false,
      next_payment_attempt: null,
    } satisfies Partial<Stripe.Invoice>)
    invoice.status_transitions.paid_at = timeline.now()
    events.emit('invoice.paid', invoice)
    events.emit('invoice.payment_succeeded', invoice)
  }

  function createIntent(invoice: Stripe.Invoice, method: string | null) {
    const now = timeline.now()
    const made = { id: objects.createId('pi'), created: now }
    const intent = createPaymentIntentObject(made, invoice, method)
    objects.add('payment_intent', intent, invoice.livemode)
    const payment = createInvoicePaymentObject(objects.createId('inpay'), now, invoice, intent.id)
    objects.add('invoice_payment', payment, invoice.livemode)
    paymentByInvoice.set(invoice.id, payment)
    invoiceByIntent.set(intent.id, invoice)
    return intent
  }

  function newCharge() {
    return { id: objects.createId('ch'), created: timeline.now() }
  }

  function paymentOf(invoice: Stripe.Invoice) {
    return paymentByInvoice.get(invoice.id)
  }

  function intentOf(invoice: Stripe.Invoice): Stripe.PaymentIntent | undefined {
    const intent = paymentOf(invoice)?.payment.payment_intent
    return intent === undefined ? undefined : objects.read('payment_intent', intent as string)
  }

  function isProcessing(invoice: Stripe.Invoice): boolean {
    return intentOf(invoice)?.status === 'processing'
  }

  /** The charge that paid an invoice; null if nothing was charged. */
  function chargeOf(invoice: Stripe.Invoice): Stripe.Charge | null {
    const id = intentOf(invoice)?.latest_charge as string | null | undefined
    const charge = id ? objects.read('charge', id) : null
    return charge?.paid ? charge : null
  }

  function invoiceOf(charge: Stripe.Charge): Stripe.Invoice | undefined {
    return invoiceByIntent.get(charge.payment_intent as string)
  }
}
