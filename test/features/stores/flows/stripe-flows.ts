import { lifecycle } from '../../../support/billing.ts'
import {
  ANN,
  cancellation,
  expiration,
  type Flow,
  initial,
  issue,
  renewal,
} from '../../../support/flows/events.ts'
import type { Account } from '../../../support/stripe/core.ts'
import type { FakeStripe } from '../../../support/stripe/stripe.ts'
import type { FakeSubscription } from '../../../support/stripe/subscription.ts'
import { billingFlows } from './store-flows.ts'

/** Stripe, and the latest subscription there. */
export type StripeScript = {
  fake: FakeStripe
  /** The price of a product, for 30 days. */
  priceOf: (product: string) => ReturnType<FakeStripe['createPrice']>
  bought: FakeSubscription
}
type Step = (script: StripeScript) => unknown

/** A flow as the billing provider reports it, and the same flow at Stripe. */
export type StripeFlow = Flow & {
  /** What customers and operators do; renewals and retries happen automatically until the last step. */
  steps: [day: number, step: Step][]
  graceDays?: number
  account?: Partial<Account>
}

const PRODUCT = 'prod_example_pro'

const buy =
  (product = PRODUCT, trialDays = 0): Step =>
  (script) => {
    script.bought = script.fake.subscribe({ price: script.priceOf(product), trialDays })
  }
const change =
  (act: (bought: FakeSubscription) => unknown): Step =>
  ({ bought }) =>
    act(bought)
/** The invoice of a period is collected an hour after its start. */
const collect: Step = ({ fake }) => fake.runDue()
const breakCard = change((bought) => bought.setCard('declines'))
const pay = change((bought) => {
  bought.setCard('pays')
  bought.pay()
})
const cancel = change((bought) => bought.cancelAt())
const refund = change((bought) => bought.refund())
/** Pauses until day 60. */
const pause = change((bought) => bought.pauseCollection('void', bought.periodEnd() + 30 * 86_400))
/** A payment does not move the next renewal. */
const paidLate = (day: number) => renewal(day, 60, { purchased_day: 30 })

/** The flows at Stripe, by the name of the billing provider's flow. */
const AT_STRIPE: Record<string, Pick<StripeFlow, 'steps'> & Partial<StripeFlow>> = {
  'F1: a trial converts, is cancelled and expires': {
    steps: [
      [0, buy(PRODUCT, 7)],
      [10, cancel],
      [37, collect],
    ],
  },
  'F3: a cancellation is reverted': {
    steps: [
      [0, buy()],
      [5, cancel],
      [6, change((bought) => bought.undoCancel())],
    ],
  },
  'F4: a billing issue with a grace period recovers': {
    events: [initial(), issue(30, 46), cancellation(30, 'BILLING_ERROR'), paidLate(40)],
    expected: [
      [41, ANN, true, 'active'],
      [61, ANN, false],
    ],
    steps: [
      [0, buy()],
      [29, breakCard],
      [40, pay],
    ],
  },
  'F5: a billing issue is not resolved in the grace period, and recovers later': {
    events: [
      initial(),
      issue(30, 46),
      cancellation(30, 'BILLING_ERROR'),
      expiration(46, 'BILLING_ERROR', { expiration_day: 30 }),
      paidLate(50),
    ],
    expected: [
      [47, ANN, false],
      [51, ANN, true, 'active'],
      [61, ANN, false],
    ],
    account: { retryDays: [16], afterRetries: 'unpaid' },
    steps: [
      [0, buy()],
      [29, breakCard],
      [50, pay],
    ],
  },
  'F5: access lasts until the end of the grace period': {
    steps: [
      [0, buy()],
      [29, breakCard],
      [31, collect],
    ],
  },
  'F6: a billing issue without a grace period ends access immediately': {
    graceDays: 0,
    steps: [
      [0, buy()],
      [29, breakCard],
      [31, collect],
    ],
  },
  // The billing provider reports no grace period for Stripe.
  'F7: Stripe extends the period with the billing issue, and expires early': {
    events: [
      initial(),
      issue(30, 46, { expiration_day: 60 }),
      cancellation(30, 'BILLING_ERROR', { expiration_day: 60 }),
      paidLate(33),
      cancellation(40, 'UNSUBSCRIBE', { purchased_day: 30, expiration_day: 60 }),
      expiration(41, 'UNSUBSCRIBE', { purchased_day: 30, expiration_day: 60 }),
    ],
    steps: [
      [0, buy()],
      [29, breakCard],
      [33, pay],
      [40, cancel],
      [41, change((bought) => bought.cancel())],
    ],
  },
  'F7: Stripe keeps access while it retries': {
    events: [
      initial(),
      issue(30, 60, { expiration_day: 60 }),
      cancellation(30, 'BILLING_ERROR', { expiration_day: 60 }),
    ],
    expected: [
      [31, ANN, true, 'in_grace_period'],
      [61, ANN, false],
    ],
    graceDays: 30,
    steps: [
      [0, buy()],
      [29, breakCard],
      [40, collect],
    ],
  },
  'F8: a refund ends access, and a renewal restores it': {
    events: [
      initial(),
      cancellation(5, 'CUSTOMER_SUPPORT', { price: -9.99, expiration_day: 4.99 }),
      renewal(30, 60),
    ],
    expected: [
      [6, ANN, false, 'refunded'],
      [36, ANN, true, 'active'],
    ],
    steps: [
      [0, buy()],
      [5, refund],
      [31, collect],
    ],
  },
  'F8: a refund followed by its expiration': {
    steps: [
      [0, buy()],
      [5, refund],
      [5.25, change((bought) => bought.cancel())],
    ],
  },
  'F9: a refund is reversed': {
    steps: [
      [0, buy()],
      [5, change((bought) => bought.refund({ isPending: true }))],
      [8, ({ fake, bought }) => bought.failRefund(lastRefund(fake))],
    ],
  },
  'F10: a refund of an earlier period changes nothing': {
    steps: [
      [0, buy()],
      [35, change((bought) => bought.refund({ earlier: 1 }))],
    ],
  },
  'F11: Apple changes the product immediately': {
    events: [
      initial({ entitlement_ids: ['basic'], product_id: 'basic' }),
      lifecycle(ANN, 'PRODUCT_CHANGE', 10, { product_id: 'basic', new_product_id: PRODUCT }),
      renewal(10, 30, { purchased_day: 0 }),
    ],
    steps: [
      [0, buy('basic')],
      [10, ({ bought, priceOf }) => bought.switchPrice(priceOf(PRODUCT), 'always_invoice')],
    ],
  },
  'F12: a change at the end of the period': {
    steps: [
      [0, buy('gold')],
      [10, ({ bought, priceOf }) => bought.planSwitch(priceOf(PRODUCT))],
      [31, collect],
    ],
  },
  'F13: a pause begins at the end of the period and ends with a renewal': {
    steps: [
      [0, buy()],
      [10, pause],
      [61, collect],
    ],
  },
  'F13: a paused purchase gives no access': {
    steps: [
      [0, buy()],
      [10, pause],
      [31, collect],
    ],
  },
  'F16: a purchase after the end gives access again': {
    steps: [
      [0, buy()],
      [10, cancel],
      [50, buy()],
    ],
  },
  "F17a: a developer's cancellation with price 0 keeps access": {
    steps: [
      [0, buy()],
      [10, cancel],
    ],
  },
  "F17a: a developer's cancellation with price -9.99 is a refund": {
    steps: [
      [0, buy()],
      [10, refund],
    ],
  },
}

/** Flows that Stripe does not have, by the beginning of their names, and why. */
export const NOT_AT_STRIPE: Record<string, string> = {
  'F2:': 'A subscription that has ended does not continue: the user buys a new one.',
  'F11: Google': 'Only on the Play Store is a product change a new purchase.',
  'F14:': 'Only the billing provider moves purchases between customers.',
  'F14b:': 'Only the billing provider has anonymous customers.',
  'F15:': 'At Stripe, an extension is a trial.',
  'F17:': 'Only the billing provider grants promotions.',
  'F18:': 'Only subscriptions are sold at Stripe.',
  'F19:': 'Only the billing provider grants access during a store outage.',
  'F20:': 'Only the billing provider sells to customers who have not signed in.',
}

/** The flows that also exist at Stripe. */
export const stripeFlows: StripeFlow[] = billingFlows.flatMap((flow) => {
  const atStripe = AT_STRIPE[flow.name]
  return atStripe === undefined ? [] : [{ ...flow, ...atStripe }]
})

function lastRefund({ events }: FakeStripe) {
  const refunds = events.all.map(({ data }) => data.object).filter((one) => one.object === 'refund')
  const last = refunds.at(-1)
  if (last === undefined) throw new Error('nothing was refunded')
  return last
}
