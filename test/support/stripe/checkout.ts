import type Stripe from 'stripe'
import type { Billing } from './billing/billing.ts'
import type { CardKind } from './billing/payments.ts'
import type { Core } from './core.ts'
import { createCustomerObject } from './objects/customer.ts'
import { createSessionObject, type SessionFields } from './objects/session.ts'
import type { MissingPaymentMethod } from './objects/subscription.ts'

/**
 * What the customer does on the page: `authenticate` starts 3-D Secure, which `confirm` or `refuse` ends; `no_card` is
 * for trials that need none.
 */
export type CheckoutAction =
  | 'pay'
  | 'decline'
  | 'authenticate'
  | 'confirm'
  | 'refuse'
  | 'debit'
  | 'no_card'
export type SessionOptions = Omit<SessionFields, 'id' | 'created' | 'url' | 'isTrial'> & {
  subscriptionMetadata: Stripe.Metadata
  trialDays: number
  isFlexible: boolean
  missingPaymentMethod: MissingPaymentMethod
}
export type Checkout = ReturnType<typeof createCheckout>

type Details = SessionOptions & {
  /** Created by an attempt that has not succeeded. */
  subscription: Stripe.Subscription | null
}

/** Checkout sessions, which sell subscriptions. */
export function createCheckout(
  core: Core,
  { payments, subscriptions, collection }: Billing,
  baseUrl: () => string,
) {
  const { objects, timeline, events } = core
  const details = new Map<string, Details>()
  return { create, expire, act, settleDebit, failDebit, linesOf, sessionOf }

  function create(options: SessionOptions): Stripe.Checkout.Session {
    const id = objects.createId(options.livemode ? 'cs_live' : 'cs_test', 58)
    const session = createSessionObject({
      ...options,
      id,
      created: timeline.now(),
      url: `${baseUrl()}/pay/${id}`,
      isTrial: options.trialDays > 0,
    })
    objects.add('checkout.session', session, options.livemode)
    details.set(id, { ...options, subscription: null })
    timeline.schedule(session.expires_at, () => {
      if (session.status === 'open') expire(session)
    })
    return session
  }

  function expire(session: Stripe.Checkout.Session) {
    if (session.status !== 'open') throw new Error(`session ${session.id} is ${session.status}`)
    session.status = 'expired'
    session.url = null
    events.emit('checkout.session.expired', session)
  }

  /** Performs the customer's action. Returns whether the session is complete. */
  function act(session: Stripe.Checkout.Session, action: CheckoutAction): boolean {
    if (session.status !== 'open') throw new Error(`session ${session.id} is ${session.status}`)
    const known = detailsOf(session)
    if (action === 'no_card') {
      if (known.trialDays === 0 || known.paymentMethodCollection === 'always') {
        throw new Error('this session needs a payment method')
      }
      return complete(session, start(session, null), 'no_payment_required')
    }
    if (action === 'confirm' || action === 'refuse') return authenticate(session, action)
    const customer = customerOf(session)
    const isTrial = known.trialDays > 0
    if (action === 'decline' && (isTrial || known.subscription === null)) return false
    const kinds = { pay: 'pays', decline: 'declines', authenticate: 'asks', debit: 'debits' }
    const method = payments.addMethod(customer, kinds[action] as CardKind)
    const subscription = attempt(session, method)
    if (isTrial) return complete(session, subscription, 'no_payment_required')
    if (action === 'debit') return complete(session, subscription, 'unpaid')
    return subscription.status === 'active' && complete(session, subscription, 'paid')
  }

  /** Pays with a new method, and reuses a subscription that an earlier attempt left incomplete. */
  function attempt(session: Stripe.Checkout.Session, { id }: Stripe.PaymentMethod) {
    const known = detailsOf(session)
    if (known.subscription?.status !== 'incomplete') return start(session, id)
    known.subscription.default_payment_method = id
    collection.payAll(known.subscription)
    return known.subscription
  }

  function authenticate(session: Stripe.Checkout.Session, action: 'confirm' | 'refuse') {
    const { subscription } = detailsOf(session)
    if (subscription?.status !== 'incomplete') throw new Error('nothing waits for confirmation')
    const method = subscription.default_payment_method as string
    if (action === 'refuse') {
      payments.setKind(method, 'declines')
      collection.payAll(subscription)
      return false
    }
    payments.setKind(method, 'pays')
    collection.confirm(subscription)
    return complete(session, subscription, 'paid')
  }

  function start(session: Stripe.Checkout.Session, paymentMethod: string | null) {
    const known = detailsOf(session)
    const subscription = subscriptions.start({
      customer: customerOf(session),
      items: known.lines,
      metadata: { ...known.subscriptionMetadata },
      trialDays: known.trialDays,
      paymentMethod,
      missingPaymentMethod: known.missingPaymentMethod,
      isFlexible: known.isFlexible,
    })
    known.subscription = subscription
    return subscription
  }

  function complete(
    session: Stripe.Checkout.Session,
    subscription: Stripe.Subscription,
    paymentStatus: Stripe.Checkout.Session.PaymentStatus,
  ): true {
    const { email, name = null } = customerOf(session)
    Object.assign(session, {
      status: 'complete',
      payment_status: paymentStatus,
      subscription: subscription.id,
      invoice: subscription.latest_invoice,
      url: null,
      customer_details: {
        address: null,
        business_name: null,
        email,
        individual_name: null,
        name,
        phone: null,
        tax_exempt: 'none',
        tax_ids: [],
      },
    } satisfies Partial<Stripe.Checkout.Session>)
    events.emit('checkout.session.completed', session)
    return true
  }

  function settleDebit(session: Stripe.Checkout.Session) {
    collection.settleDebit(objects.read('subscription', session.subscription as string))
    session.payment_status = 'paid'
    events.emit('checkout.session.async_payment_succeeded', session)
  }

  function failDebit(session: Stripe.Checkout.Session) {
    collection.failDebit(objects.read('subscription', session.subscription as string))
    events.emit('checkout.session.async_payment_failed', session)
  }

  /** A session without a customer creates one, as Payment Links do. */
  function customerOf(session: Stripe.Checkout.Session): Stripe.Customer {
    if (session.customer !== null) return objects.customer(session.customer as string)
    const { livemode } = session
    const made = { id: objects.createId('cus', 14), created: timeline.now(), livemode }
    const customer = createCustomerObject(made, { email: 'guest@example.com' })
    objects.add('customer', customer, livemode)
    session.customer = customer.id
    events.emit('customer.created', customer)
    return customer
  }

  function linesOf({ id }: Stripe.Checkout.Session) {
    return details.get(id)?.lines ?? []
  }

  function sessionOf(id: string): Stripe.Checkout.Session {
    return objects.read('checkout.session', id)
  }

  function detailsOf({ id }: Stripe.Checkout.Session): Details {
    const known = details.get(id)
    if (known === undefined) throw new Error(`there is no session ${id}`)
    return known
  }
}
