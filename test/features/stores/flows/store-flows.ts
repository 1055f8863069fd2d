import type { AppStore, FakeSubscription } from '../../../support/app-store/app-store.ts'
import type { Notification } from '../../../support/app-store/world.ts'
import { changes } from '../../../support/flows/changes.ts'
import { ANN, cancellation, type Flow, initial, renewal } from '../../../support/flows/events.ts'
import { lapses } from '../../../support/flows/lapses.ts'

/** The App Store, and the latest purchases in it. */
export type Script = {
  store: AppStore
  bought: FakeSubscription
  lifetime: ReturnType<AppStore['buyOnce']>
}
type Step = (script: Script) => Notification

/** A flow as the billing provider reports it, and the same flow in the App Store. */
export type StoreFlow = Flow & { steps: [day: number, step: Step][] }

const PRODUCT = 'prod_example_pro'

export const buy =
  (product = PRODUCT, trialDays?: number): Step =>
  (script) => {
    const trial = trialDays === undefined ? {} : { trialDays }
    script.bought = script.store.buy({ product, userId: ANN, ...trial })
    return script.bought.notification
  }
const buyLifetime: Step = (script) => {
  script.lifetime = script.store.buyOnce('Non-Consumable', { product: PRODUCT, userId: ANN })
  return script.lifetime.notification
}
const renew: Step = ({ bought }) => bought.renew()
const recover: Step = ({ bought }) => bought.renew('BILLING_RECOVERY')
const resubscribe: Step = ({ bought }) => bought.resubscribe()
const turnOff: Step = ({ bought }) => bought.setAutoRenew(false)
const turnOn: Step = ({ bought }) => bought.setAutoRenew(true)
const failWithGrace: Step = ({ bought }) => bought.failToRenew(16)
const expire: Step = ({ bought }) => bought.expire()
const refund: Step = ({ bought }) => bought.refund()
const change =
  (isUpgrade: boolean): Step =>
  ({ bought }) =>
    bought.changeProduct(PRODUCT, isUpgrade)

/** The flows in the App Store, by the name of the billing provider's flow. */
const IN_APP_STORE: Record<string, StoreFlow['steps']> = {
  'F1: a trial converts, is cancelled and expires': [
    [0, buy(PRODUCT, 7)],
    [7, renew],
    [10, turnOff],
    [37, expire],
  ],
  'F2: a cancelled trial is resumed by a renewal': [
    [0, buy(PRODUCT, 7)],
    [3, turnOff],
    [7, expire],
    [60, resubscribe],
  ],
  'F3: a cancellation is reverted': [
    [0, buy()],
    [5, turnOff],
    [6, turnOn],
  ],
  'F4: a billing issue with a grace period recovers': [
    [0, buy()],
    [30, failWithGrace],
    [40, recover],
  ],
  'F5: a billing issue is not resolved in the grace period, and recovers later': [
    [0, buy()],
    [30, failWithGrace],
    [46, ({ bought }) => bought.endGrace()],
    [50, recover],
  ],
  'F5: access lasts until the end of the grace period': [
    [0, buy()],
    [30, failWithGrace],
  ],
  'F6: a billing issue without a grace period ends access immediately': [
    [0, buy()],
    [30, ({ bought }) => bought.failToRenew()],
  ],
  'F8: a refund ends access, and a renewal restores it': [
    [0, buy()],
    [5, refund],
    [35, resubscribe],
  ],
  'F8: a refund followed by its expiration': [
    [0, buy()],
    [5, refund],
  ],
  'F9: a refund is reversed': [
    [0, buy()],
    [5, refund],
    [8, ({ bought }) => bought.reverseRefund()],
  ],
  'F10: a refund of an earlier period changes nothing': [
    [0, buy()],
    [30, renew],
    [35, ({ bought }) => bought.refundEarlier()],
  ],
  'F11: Apple changes the product immediately': [
    [0, buy('basic')],
    [10, change(true)],
  ],
  'F12: a change at the end of the period': [
    [0, buy('gold')],
    [10, change(false)],
    [30, renew],
  ],
  'F15: the period is extended': [
    [0, buy()],
    [20, ({ bought }) => bought.extend(7)],
  ],
  'F16: a purchase after the end gives access again': [
    [0, buy()],
    [30, expire],
    [50, buy()],
  ],
  'F18: a lifetime purchase lasts until it is refunded': [
    [0, buyLifetime],
    [40, ({ lifetime }) => lifetime.refund()],
  ],
}

/** Flows that the App Store does not have, by the beginning of their names, and why. */
export const NOT_IN_APP_STORE: Record<string, string> = {
  'F7:': 'Only Stripe extends the period when a payment fails.',
  'F11: Google': 'Only on the Play Store is a product change a new purchase.',
  'F13:': 'Only the Play Store has pauses.',
  'F14:': 'Only the billing provider moves purchases between customers.',
  'F14b:': 'Only the billing provider has anonymous customers.',
  'F17:': 'Only the billing provider grants promotions.',
  'F17a:': 'In the App Store, developers do not cancel subscriptions.',
  'F19:': 'Only the billing provider grants access during a store outage.',
  'F20:': 'A web purchase is not made in the App Store.',
}

/** F1 to F20, as the billing provider reports them. */
export const billingFlows: Flow[] = [
  ...lapses,
  ...changes,
  {
    name: 'F10: a refund of an earlier period changes nothing',
    events: [initial(), renewal(30, 60), cancellation(35, 'CUSTOMER_SUPPORT')],
    expected: [
      [36, ANN, true, 'active'],
      [61, ANN, false, 'expired'],
    ],
  },
]

/** The flows that also exist in the App Store. */
export const storeFlows: StoreFlow[] = billingFlows.flatMap((flow) => {
  const steps = IN_APP_STORE[flow.name]
  return steps === undefined ? [] : [{ ...flow, steps }]
})
