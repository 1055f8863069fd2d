import type Stripe from 'stripe'
import type { Billing } from './billing/billing.ts'
import type { CardKind } from './billing/payments.ts'
import { HOUR } from './billing/periods.ts'
import { periodEnd } from './billing/subscriptions.ts'
import type { Core, Proration } from './core.ts'
import type { ExpectedState, ExpectedStateOptions } from './expected-states.ts'
import type { Portal } from './portal.ts'

export type FakeSubscription = ReturnType<typeof createFakeSubscription>

type Deps = {
  core: Core
  billing: Billing
  portal: Portal
  expectedStatesOf: (
    subscription: Stripe.Subscription,
    options?: ExpectedStateOptions,
  ) => ExpectedState[]
  advanceTo: (seconds: number) => void
}

/** A subscription that tests can change. Whatever is due before a change happens first. */
export function createFakeSubscription(deps: Deps, object: Stripe.Subscription) {
  const { core, billing, portal, expectedStatesOf, advanceTo } = deps
  const { timeline, objects } = core
  const { subscriptions, collection, changes, payments, invoices, refunds, disputes } = billing
  return {
    id: object.id,
    object,
    customer: object.customer as string,
    item,
    status: () => object.status,
    periodEnd: () => periodEnd(object),
    expectedStates: (options?: ExpectedStateOptions) => expectedStatesOf(object, options),
    /** The expected state of the first item. */
    firstExpectedState,
    invoices: () => invoices.listOfSubscription(object.id),
    currentInvoice,
    /** Decides the outcome of the next payments. */
    setCard: (kind: CardKind) => {
      const method = collection.methodOf(object)
      if (method === null) throw new Error('the subscription has no card')
      payments.setKind(method, kind)
    },
    replaceCard: (kind?: 'pays' | 'declines' | 'asks') =>
      settled(() => portal.replaceCard(objects.customer(object.customer as string), kind)),
    /** Moves the clock to after the next invoice is collected. */
    renew: () => advanceTo(periodEnd(object) + HOUR),
    /** Moves the clock to after the next invoice has failed. */
    failToRenew,
    /** Moves the clock to after the last retry, which fails. */
    exhaustRetries,
    pay: () => settled(() => collection.payAll(object)),
    confirm: () => settled(() => collection.confirm(object)),
    settleDebit: () => settled(() => collection.settleDebit(object)),
    failDebit: () => settled(() => collection.failDebit(object)),
    cancel: () => settled(() => subscriptions.cancel(object)),
    /** At a time in seconds, or at the end of the period. */
    cancelAt: (at?: number) => settled(() => subscriptions.setCancelAt(object, at)),
    undoCancel: () => settled(() => subscriptions.undoCancel(object)),
    switchPrice: (price: Stripe.Price, proration?: Proration) =>
      settled(() => changes.changeItem(object, item(), { price }, proration)),
    setQuantity: (quantity: number, at = 0) =>
      settled(() => changes.changeItem(object, item(at), { quantity })),
    addItem: (price: Stripe.Price, quantity?: number) =>
      settled(() => changes.addItem(object, price, quantity)),
    removeItem: (at: number) => settled(() => changes.removeItem(object, item(at))),
    /** At the end of the period, by a schedule. */
    planSwitch: (price: Stripe.Price) => settled(() => billing.schedules.planSwitch(object, price)),
    releaseSchedule: () => settled(() => billing.schedules.release(object)),
    /** Without `pause_collection`, a pause is the status `paused`. */
    pause: () => settled(() => subscriptions.pause(object, 'pause_requested')),
    resume: () => settled(() => changes.resume(object)),
    pauseCollection: (...how: Tail<Parameters<typeof changes.pauseCollection>>) =>
      settled(() => changes.pauseCollection(object, ...how)),
    resumeCollection: () => settled(() => changes.resumeCollection(object)),
    voidInvoice: () => settled(() => closeInvoice(invoices.voidInvoice)),
    markUncollectible: () => settled(() => closeInvoice(invoices.markUncollectible)),
    refund,
    succeedRefund: (refund: Stripe.Refund) => settled(() => refunds.succeed(refund)),
    failRefund: (refund: Stripe.Refund) => settled(() => refunds.fail(refund)),
    dispute: (options?: { isInquiry?: boolean }) =>
      settled(() => disputes.open(chargeOf(), options)),
    escalateDispute: (dispute: Stripe.Dispute) => settled(() => disputes.escalate(dispute)),
    winDispute: (dispute: Stripe.Dispute) => settled(() => disputes.win(dispute)),
    loseDispute: (dispute: Stripe.Dispute) => settled(() => disputes.lose(dispute)),
    closeInquiry: (dispute: Stripe.Dispute) => settled(() => disputes.closeInquiry(dispute)),
    chargeOf,
  }

  function settled<T>(act: () => T): T {
    timeline.runDue()
    return act()
  }

  function item(at = 0): Stripe.SubscriptionItem {
    const found = object.items.data[at]
    if (found === undefined) throw new Error(`there is no item ${at}`)
    return found
  }

  function firstExpectedState(): ExpectedState {
    const found = expectedStatesOf(object).find((state) => state.item === item().id)
    if (found === undefined) throw new Error('nothing was paid or tried yet')
    return found
  }

  function failToRenew(kind: CardKind = 'declines') {
    const method = collection.methodOf(object)
    if (method !== null) payments.setKind(method, kind)
    advanceTo(periodEnd(object) + HOUR)
  }

  function exhaustRetries() {
    for (let at = nextRetry(); at !== null; at = nextRetry()) advanceTo(at)
  }

  function nextRetry(): number | null {
    const invoice = objects.read('invoice', object.latest_invoice as string)
    return invoice.status === 'open' ? invoice.next_payment_attempt : null
  }

  /** `earlier`: how many paid invoices before the last one; by default the last one. */
  function refund({
    amount,
    earlier,
    isPending = false,
  }: {
    amount?: number
    earlier?: number
    isPending?: boolean
  } = {}) {
    return settled(() => refunds.refund(chargeOf(earlier), amount, { isPending }))
  }

  /** The charge of the last invoice that was charged for, or of one before it. */
  function chargeOf(earlier = 0): Stripe.Charge {
    timeline.runDue()
    const charges = invoices
      .listOfSubscription(object.id)
      .flatMap((invoice) => payments.chargeOf(invoice) ?? [])
    const charge = charges.at(-1 - earlier)
    if (charge === undefined) throw new Error('there is no such charge')
    return charge
  }

  function currentInvoice(): Stripe.Invoice {
    timeline.runDue()
    return objects.read('invoice', object.latest_invoice as string)
  }

  /** Once its latest invoice is closed, a subscription is no longer past due. */
  function closeInvoice(close: (invoice: Stripe.Invoice) => void) {
    const invoice = objects.read('invoice', object.latest_invoice as string)
    close(invoice)
    collection.heal(object, invoice)
  }
}

type Tail<T extends unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never
