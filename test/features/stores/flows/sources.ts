import {
  type BillingEvent,
  type Delivery,
  readEvent,
} from '../../../../src/features/billing/inbox/event.ts'
import { readAppleDelivery } from '../../../../src/features/stores/apple/delivery.ts'
import { createTokenVerifier } from '../../../../src/features/stores/apple/token.ts'
import { createClock } from '../../../support/app.ts'
import { createAppStore } from '../../../support/app-store/app-store.ts'
import { FAKE_APP } from '../../../support/app-store/subscription.ts'
import type { Notification } from '../../../support/app-store/world.ts'
import { bodyOf, type EventFixture, ms } from '../../../support/billing.ts'
import type { Script, StoreFlow } from './store-flows.ts'

/** A delivery from the billing provider or a store, with its event. */
export type Report = { event: BillingEvent & { orderedAt: number } } & (
  | { fixture: EventFixture }
  | { notification: Notification }
  | { delivery: Delivery }
)

const clock = createClock()
/** The App Store that all flows share. */
export const flowStore = await createAppStore(clock)
const verify = createTokenVerifier(flowStore.signer.root)

/** Runs a flow in the App Store. Both sources report the same transactions. */
export function runAppStoreFlow({
  steps,
  events,
}: StoreFlow): Record<'billing' | 'store', Report[]> {
  const script = { store: flowStore } as Script
  const store = steps.map(([day, step]) => {
    clock.now = new Date(ms(day))
    return reportFromStore(step(script))
  })
  const billing = events.map((fixture, at) =>
    reportFromProvider({ ...fixture, ...transactionOf(fixture, store), id: `E-${at}` }),
  )
  return { billing, store }
}

/** The billing provider's report of an event, delivered `seconds` later. */
export function reportFromProvider(fixture: EventFixture, seconds = 0): Report {
  const late = { ...fixture, at: fixture.at + seconds / 86_400 }
  const event = readEvent(bodyOf(late), Buffer.from(''))
  if (event === null) throw new Error('the fixture has no event')
  return { fixture: late, event: { ...event, orderedAt: ms(late.at) } }
}

function reportFromStore(notification: Notification): Report {
  const { signedPayload } = notification.body
  const delivery = readAppleDelivery(signedPayload, verify, [FAKE_APP])
  if (!delivery) throw new Error('the notification has no event')
  const { event } = delivery
  return { notification, event: { ...event, orderedAt: event.at ?? 0 } }
}

/** The store's ids of the purchase and the period that the billing provider's event is about. */
export function transactionOf(fixture: EventFixture, store: Report[]) {
  const purchases = [...new Set(store.map(({ event }) => event.originalTransactionId))]
  const original = purchases[fixture['original_transaction_id'] === '2000' ? 1 : 0]
  const periods = store.filter(({ event }) => event.originalTransactionId === original)
  const startedAt = ms(Number(fixture['purchased_day'] ?? fixture.at))
  const period = periods.findLast(({ event }) => Number(event.purchasedAt) <= startedAt)
  return { original_transaction_id: original, transaction_id: period?.event.transactionId }
}
