import type Stripe from 'stripe'
import type { Core } from '../core.ts'
import type { Invoices } from './invoices.ts'
import type { PaymentOutcome, Payments } from './payments.ts'
import { DAY } from './periods.ts'

export type Collection = ReturnType<typeof createCollection>

type Listener = (subscription: Stripe.Subscription) => void

/** Collects the invoices of subscriptions and retries; payments decide a subscription's status. */
export function createCollection(core: Core, invoices: Invoices, payments: Payments) {
  const { objects, timeline, events, account } = core
  let activated: Listener = () => {}
  let givenUp: Listener = () => {}
  return {
    collect,
    payAll,
    settleDebit,
    failDebit,
    confirm,
    heal,
    methodOf,
    isProcessing,
    /** Listens for subscriptions whose first payment was made, or which were resumed. */
    onActivated: (listener: Listener) => {
      activated = listener
    },
    /** Listens for subscriptions whose last retry failed. */
    onGivenUp: (listener: Listener) => {
      givenUp = listener
    },
  }

  function collect(subscription: Stripe.Subscription, invoice: Stripe.Invoice) {
    // The event about a failure names the next attempt.
    invoice.next_payment_attempt = nextAttempt(subscription, invoice)
    apply(subscription, invoice, payments.attempt(invoice, methodOf(subscription)))
  }

  function apply(
    subscription: Stripe.Subscription,
    invoice: Stripe.Invoice,
    outcome: PaymentOutcome,
  ) {
    if (outcome === 'paid') return heal(subscription, invoice)
    if (outcome === 'processing') return awaitDebit(subscription)
    if (subscription.latest_invoice !== invoice.id) return
    const { status } = subscription
    if (status === 'active' || status === 'trialing') setStatus(subscription, 'past_due')
    if (subscription.status === 'past_due') planRetry(subscription, invoice)
  }

  /** Activates a subscription with a pending bank debit, if the account does so. */
  function awaitDebit(subscription: Stripe.Subscription) {
    if (subscription.status !== 'incomplete') return
    if (account.statusDuringDebit === 'active') activate(subscription)
  }

  function planRetry(subscription: Stripe.Subscription, invoice: Stripe.Invoice) {
    const at = invoice.next_payment_attempt
    if (at === null) return givenUp(subscription)
    timeline.schedule(at, () => {
      const isDue = invoice.status === 'open' && invoice.next_payment_attempt === at
      if (isDue && subscription.status === 'past_due') collect(subscription, invoice)
    })
  }

  /** The time of the attempt after the coming one; null if the coming one is the last. */
  function nextAttempt({ status }: Stripe.Subscription, invoice: Stripe.Invoice): number | null {
    if (status === 'incomplete' || status === 'paused') return null
    const days = account.retryDays[invoice.attempt_count]
    const first = invoice.status_transitions.finalized_at ?? timeline.now()
    return days === undefined ? null : Math.max(first + days * DAY, timeline.now() + 1)
  }

  /** Only the latest invoice decides the status. */
  function heal(subscription: Stripe.Subscription, invoice: Stripe.Invoice) {
    if (subscription.latest_invoice !== invoice.id) return
    const { status, status_details } = subscription
    // Paying what was due before a pause does not end it.
    const isEarlier = invoice.created < (status_details?.paused.transitioned_at ?? 0)
    if (status === 'incomplete') return activate(subscription)
    if (status === 'paused' && !isEarlier) return activate(subscription)
    if (status === 'past_due' || status === 'unpaid') setStatus(subscription, 'active')
  }

  function activate(subscription: Stripe.Subscription) {
    const wasPaused = subscription.status === 'paused'
    delete subscription.status_details
    setStatus(subscription, 'active')
    if (wasPaused) events.emit('customer.subscription.resumed', subscription)
    activated(subscription)
  }

  function setStatus(subscription: Stripe.Subscription, status: Stripe.Subscription.Status) {
    events.update('customer.subscription.updated', subscription, () => {
      subscription.status = status
    })
  }

  /** Pays every open invoice, and drafts that were kept because nothing was paid. */
  function payAll(subscription: Stripe.Subscription) {
    for (const invoice of invoices.listOfSubscription(subscription.id)) {
      const isKept = invoice.status === 'draft' && invoice.automatically_finalizes_at === null
      if (isKept && subscription.status === 'unpaid') invoices.finalize(invoice)
      if (invoice.status === 'open') collect(subscription, invoice)
    }
  }

  /** The customer confirms a payment that requires it. */
  function confirm(subscription: Stripe.Subscription) {
    const invoice = latestInvoice(subscription)
    payments.succeed(invoice)
    heal(subscription, invoice)
  }

  function settleDebit(subscription: Stripe.Subscription) {
    expectProcessing(subscription)
    confirm(subscription)
  }

  function failDebit(subscription: Stripe.Subscription) {
    expectProcessing(subscription)
    const invoice = latestInvoice(subscription)
    invoice.next_payment_attempt = nextAttempt(subscription, invoice)
    payments.fail(invoice)
    apply(subscription, invoice, 'failed')
  }

  function expectProcessing(subscription: Stripe.Subscription) {
    if (!isProcessing(subscription)) throw new Error('no bank debit is pending')
  }

  function isProcessing(subscription: Stripe.Subscription): boolean {
    return payments.isProcessing(latestInvoice(subscription))
  }

  function latestInvoice({ latest_invoice }: Stripe.Subscription): Stripe.Invoice {
    return objects.read('invoice', latest_invoice as string)
  }

  function methodOf({ default_payment_method, customer }: Stripe.Subscription): string | null {
    const { invoice_settings } = objects.customer(customer as string)
    return (default_payment_method ?? invoice_settings.default_payment_method) as string | null
  }
}
