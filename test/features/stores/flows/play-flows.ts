import { lifecycle } from '../../../support/billing.ts'
import { ANN, type Flow, initial, issue, renewal } from '../../../support/flows/events.ts'
import type { FakeSubscription } from '../../../support/play-store/plan-changes.ts'
import type { FakePurchase, PlayStore } from '../../../support/play-store/play-store.ts'
import { billingFlows } from './store-flows.ts'

/** Google Play, and the latest purchases there. */
export type PlayScript = {
  store: PlayStore
  bought: FakeSubscription
  lifetime: ReturnType<PlayStore['buyOnce']>
}
/** Returns the purchases that changed. */
type Step = (script: PlayScript) => FakePurchase[]

/** A flow as the billing provider reports it, and the same flow on Google Play. */
export type PlayFlow = Flow & { steps: [day: number, step: Step][] }

const PRODUCT = 'prod_example_pro'

export const buy =
  (product = PRODUCT, options: { trialDays?: number } = {}): Step =>
  (script) => {
    script.bought = script.store.buy({ product, basePlan: null, userId: ANN, ...options })
    return [script.bought]
  }
const change =
  (act: (bought: FakeSubscription) => unknown): Step =>
  ({ bought }) => {
    act(bought)
    return [bought]
  }
const renew = change((bought) => bought.renew())
const cancel = change((bought) => bought.cancel())
const fail = change((bought) => bought.failToRenew(16))
const hold = change((bought) => bought.hold())
const expire = change((bought) => bought.expire())
const refund = change((bought) => bought.refund())
/** A recovery in the grace period does not move the next renewal. */
const recoveredInGrace = [initial(), issue(30, 46), renewal(40, 60, { purchased_day: 30 })]

/** The flows on Google Play, by the name of the billing provider's flow. */
const ON_GOOGLE_PLAY: Record<string, Pick<PlayFlow, 'steps'> & Partial<Flow>> = {
  'F1: a trial converts, is cancelled and expires': {
    steps: [
      [0, buy(PRODUCT, { trialDays: 7 })],
      [7, renew],
      [10, cancel],
      [37, expire],
    ],
  },
  'F3: a cancellation is reverted': {
    steps: [
      [0, buy()],
      [5, cancel],
      [6, change((bought) => bought.restore())],
    ],
  },
  'F4: a billing issue with a grace period recovers': {
    events: recoveredInGrace,
    expected: [
      [41, ANN, true, 'active'],
      [61, ANN, false],
    ],
    steps: [
      [0, buy()],
      [30, fail],
      [40, renew],
    ],
  },
  'F5: a billing issue is not resolved in the grace period, and recovers later': {
    steps: [
      [0, buy()],
      [30, fail],
      [46, hold],
      [50, renew],
    ],
  },
  'F5: access lasts until the end of the grace period': {
    steps: [
      [0, buy()],
      [30, fail],
    ],
  },
  'F6: a billing issue without a grace period ends access immediately': {
    steps: [
      [0, buy()],
      [30, hold],
    ],
  },
  'F8: a refund followed by its expiration': {
    steps: [
      [0, buy()],
      [5, refund],
    ],
  },
  'F10: a refund of an earlier period changes nothing': {
    steps: [
      [0, buy()],
      [30, renew],
      [35, change((bought) => bought.refundEarlier())],
    ],
  },
  'F11: Google changes the product immediately, as a new purchase': {
    events: [
      initial({ entitlement_ids: ['basic'], product_id: 'basic' }),
      lifecycle(ANN, 'PRODUCT_CHANGE', 10, { product_id: 'basic' }),
      initial({
        at: 10,
        purchased_day: 10,
        expiration_day: 40,
        transaction_id: '2000',
        original_transaction_id: '2000',
      }),
    ],
    steps: [
      [0, buy('basic')],
      [
        10,
        (script) => {
          const before = script.bought
          script.bought = before.changeProduct(PRODUCT, 'immediate')
          return [before, script.bought]
        },
      ],
    ],
  },
  'F12: a change at the end of the period': {
    steps: [
      [0, buy('gold')],
      [10, change((bought) => bought.changeProduct(PRODUCT, 'deferred'))],
      [30, renew],
    ],
  },
  'F13: a pause begins at the end of the period and ends with a renewal': {
    steps: [
      [0, buy()],
      [10, change((bought) => bought.schedulePause())],
      [30, change((bought) => bought.pause(30))],
      [60, renew],
    ],
  },
  'F13: a paused purchase gives no access': {
    steps: [
      [0, buy()],
      [10, change((bought) => bought.schedulePause())],
      [30, change((bought) => bought.pause(30))],
    ],
  },
  'F15: the period is extended': {
    steps: [
      [0, buy()],
      [20, change((bought) => bought.extend(7))],
    ],
  },
  'F16: a purchase after the end gives access again': {
    steps: [
      [0, buy()],
      [30, expire],
      [50, buy()],
    ],
  },
  "F17a: a developer's cancellation with price 0 keeps access": {
    steps: [
      [0, buy()],
      [10, change((bought) => bought.cancel('developer'))],
    ],
  },
  "F17a: a developer's cancellation with price -9.99 is a refund": {
    steps: [
      [0, buy()],
      [10, refund],
    ],
  },
  'F18: a lifetime purchase lasts until it is refunded': {
    steps: [
      [
        0,
        (script) => {
          script.lifetime = script.store.buyOnce({ product: PRODUCT, userId: ANN })
          return [script.lifetime]
        },
      ],
      [
        40,
        ({ lifetime }) => {
          lifetime.refund()
          return [lifetime]
        },
      ],
    ],
  },
}

/** Flows that Google Play does not have, by the beginning of their names, and why. */
export const NOT_ON_GOOGLE_PLAY: Record<string, string> = {
  'F2:': 'A subscription that has ended does not continue: the user buys a new one.',
  'F7:': 'Only Stripe extends the period when a payment fails.',
  'F8: a refund ends access, and a renewal': 'A refunded subscription does not continue.',
  'F9:': 'Google never reverses a refund.',
  'F11: Apple': 'On Google Play a product change is a new purchase.',
  'F14:': 'Only the billing provider moves purchases between customers.',
  'F14b:': 'Only the billing provider has anonymous customers.',
  'F17:': 'Only the billing provider grants promotions.',
  'F19:': 'Only the billing provider grants access during a store outage.',
  'F20:': 'A web purchase is not made on Google Play.',
}

/** The flows that also exist on Google Play. */
export const playFlows: PlayFlow[] = billingFlows.flatMap((flow) => {
  const onGooglePlay = ON_GOOGLE_PLAY[flow.name]
  return onGooglePlay === undefined ? [] : [{ ...flow, ...onGooglePlay }]
})
