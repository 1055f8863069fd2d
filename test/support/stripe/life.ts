import type Stripe from 'stripe'
import type { Turn } from '../store-histories.ts'
import type { FakeStripe } from './stripe.ts'
import type { FakeSubscription } from './subscription.ts'

/** The successive subscriptions of one customer; only the last one still changes. */
export type StripeChain = {
  current: FakeSubscription
  all: FakeSubscription[]
  /** The last refund and dispute, which may still be pending. */
  refund: Stripe.Refund | null
  dispute: Stripe.Dispute | null
}
type Prices = ReturnType<typeof createPrices>

/** The next change, and its time (ms). `type` is the billing provider's event; null if it sends none. */
type Change = { at: number; type: string | null; apply: () => unknown }

const RESUME_DAYS = 20

/** Prices to switch between; `yearly` starts a new period. */
export function createPrices(fake: FakeStripe, isLive: boolean) {
  const interval = isLive ? 'month' : 'week'
  const create = (nickname: string, amount: number, rest = {}) =>
    fake.createPrice({ nickname, amount, interval, ...rest }, isLive)
  return {
    monthly: [create('basic', 499), create('pro', 999), create('gold', 1999)],
    yearly: create('yearly', 9_999, { interval: isLive ? 'year' : 'month' }),
  }
}

/** The next change of a customer's subscription after `now` (ms). */
export function nextStripeChange(
  fake: FakeStripe,
  chain: StripeChain,
  prices: Prices,
  { wait, isAtEnd, choice }: Turn,
  now: number,
  periodMs: number,
): Change {
  const bought = chain.current
  // Independent of which change is chosen.
  const detail = Math.floor(choice / 16)
  const { object } = bought
  const later = roundUp(now + (wait * periodMs) / 720)
  const deadline = nextDeadline(bought)
  if (deadline !== null && (isAtEnd || later >= deadline * 1000)) {
    const at = roundUp(Math.max(deadline * 1000, now) + (1 + (detail % 30)) * 1000)
    return { at, type: typeOfDeadline(bought, deadline), apply: fake.runDue }
  }
  const change = (type: string | null, apply: () => unknown): Change => ({ at: later, type, apply })
  const nothing = change(null, fake.runDue)
  const cancelNow = change('EXPIRATION', bought.cancel)
  switch (bought.status()) {
    case 'trialing':
    case 'active':
      return pick(...changesOfContents(), ...changesOfPayment())
    case 'past_due':
      return pick(nothing, pay(), pay(), change('EXPIRATION', bought.cancel), close())
    case 'unpaid':
      return pick(pay(), cancelNow)
    case 'paused':
      return pick(
        change('RENEWAL', () => {
          bought.replaceCard()
          bought.resume()
        }),
        cancelNow,
      )
    default:
      return change('INITIAL_PURCHASE', subscribeAgain)
  }

  function changesOfContents(): Change[] {
    const { monthly, yearly } = prices
    const others = monthly.filter(({ id }) => id !== bought.item().price.id)
    const other = others[detail % 2] ?? yearly
    const isCancelling = object.cancel_at !== null
    const second = object.items.data[1]
    return [
      isCancelling
        ? change('UNCANCELLATION', bought.undoCancel)
        : change('CANCELLATION', () => bought.cancelAt()),
      isCancelling ? nothing : change('CANCELLATION', () => bought.cancelAt()),
      cancelNow,
      change('RENEWAL', () => bought.switchPrice(other, 'always_invoice')),
      change(null, () => bought.switchPrice(other)),
      isCancelling ? nothing : change('PRODUCT_CHANGE', () => bought.planSwitch(other)),
      change(null, () => bought.switchPrice(yearly)),
      change(null, () => bought.setQuantity(detail % 4)),
      second ? change(null, () => bought.removeItem(1)) : change(null, () => bought.addItem(other)),
    ]
  }

  function changesOfPayment(): Change[] {
    const behaviors = ['void', 'mark_uncollectible', 'keep_as_draft'] as const
    const behavior = behaviors[detail % 3] ?? 'void'
    const resumesAt = Math.ceil(now / 1000) + RESUME_DAYS * 86_400
    const isPaused = object.pause_collection !== null
    const hasCard = object.default_payment_method !== null
    return [
      hasCard ? change(null, () => bought.setCard('declines')) : nothing,
      hasCard ? change(null, () => bought.setCard('asks')) : nothing,
      isPaused
        ? change(null, bought.resumeCollection)
        : change(null, () => bought.pauseCollection(behavior, detail % 2 === 0 ? null : resumesAt)),
      change('EXPIRATION', bought.pause),
      refund(),
      refund(),
      dispute(),
    ]
  }

  function pay(): Change {
    return change('RENEWAL', () => bought.replaceCard())
  }

  function close(): Change {
    const isOpen = bought.currentInvoice().status === 'open'
    if (!isOpen) return nothing
    return change(null, detail % 2 === 0 ? bought.markUncollectible : bought.voidInvoice)
  }

  /** Creates a refund, or decides a pending one. */
  function refund(): Change {
    const { refund: pending } = chain
    if (pending?.status === 'pending') {
      const decide = detail % 2 === 0 ? bought.succeedRefund : bought.failRefund
      return change(null, () => decide(pending))
    }
    const charge = chargeIfAny()
    if (charge === null || charge.disputed || charge.amount_refunded > 0) return nothing
    const isPartial = detail % 3 === 0
    const paid = bought.invoices().findLast(({ amount_paid }) => amount_paid > 0)
    // The billing provider's event would be about the current period.
    const isOfPeriod = paid?.id === bought.firstExpectedState().transactionId
    return change(isPartial || !isOfPeriod ? null : 'REFUND', () => {
      // There may be another charge by now.
      const { amount } = bought.chargeOf()
      chain.refund = bought.refund({
        amount: isPartial ? Math.ceil(amount / 2) : amount,
        isPending: detail % 2 === 0,
      })
    })
  }

  function dispute(): Change {
    const { dispute: open } = chain
    if (open?.status === 'warning_needs_response') {
      const decide = detail % 2 === 0 ? bought.escalateDispute : bought.closeInquiry
      return change(null, () => decide(open))
    }
    if (open?.status === 'needs_response') {
      return change(null, () => (detail % 2 === 0 ? bought.winDispute : bought.loseDispute)(open))
    }
    const charge = chargeIfAny()
    if (charge === null || charge.disputed || charge.amount_refunded > 0) return nothing
    return change(null, () => {
      chain.dispute = bought.dispute({ isInquiry: detail % 3 === 0 })
    })
  }

  function chargeIfAny(): Stripe.Charge | null {
    const hasCharge = bought.invoices().some(({ amount_paid }) => amount_paid > 0)
    return hasCharge ? bought.chargeOf() : null
  }

  function subscribeAgain() {
    const price = prices.monthly[detail % 3] ?? prices.yearly
    const customer = fake.customer(bought.customer)
    const metadata = { ...object.metadata }
    chain.current = fake.subscribe({ customer, price, metadata, isLive: object.livemode })
    chain.all.push(chain.current)
    Object.assign(chain, { refund: null, dispute: null })
  }

  function pick(...options: Change[]): Change {
    return options[choice % options.length] ?? nothing
  }
}

/** When Stripe next acts on a subscription, in seconds; null if it will not. */
function nextDeadline(bought: FakeSubscription): number | null {
  const { object } = bought
  if (bought.status() === 'paused') return object.cancel_at
  if (!['trialing', 'active', 'past_due', 'unpaid'].includes(bought.status())) return null
  const invoice = bought.currentInvoice()
  const times = [
    bought.periodEnd(),
    invoice.status === 'draft' ? invoice.automatically_finalizes_at : null,
    invoice.status === 'open' ? invoice.next_payment_attempt : null,
    object.cancel_at,
    object.pause_collection?.resumes_at,
  ]
  return Math.min(...times.filter((time) => typeof time === 'number'))
}

/** The billing provider's event about a deadline; null if it sends none. */
function typeOfDeadline(bought: FakeSubscription, deadline: number): string | null {
  if (bought.object.cancel_at === deadline) return 'EXPIRATION'
  const invoice = bought.currentInvoice()
  if (invoice.automatically_finalizes_at === deadline) return 'RENEWAL'
  return null
}

function roundUp(ms: number): number {
  return Math.ceil(ms / 1000) * 1000
}
