import { expect, test } from 'bun:test'
import { createTestApp } from '../../../support/app.ts'
import { type EventFixture, lifecycle } from '../../../support/billing.ts'
import {
  ANN,
  cancellation,
  expiration,
  initial,
  issue,
  play,
  renewal,
} from '../../../support/flows/events.ts'
import { playEvents } from '../../../support/play-events.ts'

type Story = [day: number, sentence: string, events: EventFixture[]]

const PRO = 'prod_example_pro from the App Store'
const ON = 'Access is on with the plan pro_month:'
const paused = (fields = {}) =>
  lifecycle(ANN, 'SUBSCRIPTION_PAUSED', 10, { ...play, purchased_day: 0, ...fields })

const STORIES: Record<string, Story> = {
  'no event mentions the user': [
    1,
    'Access is off: we have no purchase for this account.',
    [lifecycle('another user', 'INITIAL_PURCHASE', 0, { purchased_day: 0, expiration_day: 30 })],
  ],
  'the user has events but no purchase': [
    1,
    'Access is off: we have events for this account, but no purchase.',
    [{ type: 'TRANSFER', at: 0, transferred_from: ['z'], transferred_to: [ANN] }],
  ],
  'all purchases are in the sandbox': [
    1,
    'Access is off: this account has test purchases only.',
    [initial({ environment: 'SANDBOX' })],
  ],
  'the purchase is paid and will renew': [
    1,
    `${ON} ${PRO} is paid until 31 October 2026, 00:00 UTC and will renew.`,
    [initial()],
  ],
  'the purchase was renewed': [
    31,
    `${ON} ${PRO} is paid until 30 November 2026, 00:00 UTC and will renew.`,
    [initial(), renewal(30, 60)],
  ],
  'the trial is running': [
    1,
    `${ON} ${PRO} is in its trial until 8 October 2026, 12:00 UTC and will renew.`,
    [initial({ period_type: 'TRIAL', expiration_day: 7.5 })],
  ],
  'the purchase is cancelled but still paid': [
    6,
    `${ON} ${PRO} is paid until 31 October 2026, 00:00 UTC and will not renew (cancelled on 6 October 2026, 00:00 UTC).`,
    [initial(), cancellation(5, 'UNSUBSCRIBE')],
  ],
  'the cancellation was reverted': [
    7,
    `${ON} ${PRO} is paid until 31 October 2026, 00:00 UTC and will renew.`,
    [initial(), cancellation(5, 'UNSUBSCRIBE'), lifecycle(ANN, 'UNCANCELLATION', 6)],
  ],
  'the purchase does not renew': [
    1,
    `${ON} prod_example_pro from a promotion is paid until 31 October 2026, 00:00 UTC and will not renew.`,
    [initial({ type: 'NON_RENEWING_PURCHASE', store: 'PROMOTIONAL' })],
  ],
  'the purchase never expires': [
    9_000,
    `${ON} ${PRO} never expires.`,
    [initial({ type: 'NON_RENEWING_PURCHASE', expiration_day: null })],
  ],
  'payment failed and the grace period is running': [
    31,
    `${ON} ${PRO} is in its grace period until 16 November 2026, 00:00 UTC, because payment failed.`,
    [initial(), issue(30, 46), cancellation(30, 'BILLING_ERROR')],
  ],
  'payment failed and the store retries': [
    31,
    `${ON} prod_example_pro from Stripe is paid until 30 November 2026, 00:00 UTC, but payment for the next period failed.`,
    [initial({ store: 'STRIPE' }), issue(30, null, { store: 'STRIPE', expiration_day: 60 })],
  ],
  'access is temporary because the store could not confirm the purchase': [
    0.5,
    `${ON} ${PRO} is granted until 2 October 2026, 00:00 UTC, because the store could not confirm the purchase.`,
    [{ ...initial({ expiration_day: 5 }), type: 'TEMPORARY_ENTITLEMENT_GRANT' }],
  ],
  'no plan includes the product': [
    1,
    'Access is on: other from the App Store is paid until 31 October 2026, 00:00 UTC and will renew, but no plan on sale includes this product.',
    [initial({ product_id: 'other' })],
  ],
  'product and store are unknown': [
    1,
    'Access is on: a purchase is paid until 31 October 2026, 00:00 UTC and will renew, but no plan on sale includes this product.',
    [initial({ product_id: undefined, store: undefined })],
  ],
  'the purchase was refunded': [
    6,
    `Access is off: ${PRO} was refunded on 6 October 2026, 00:00 UTC.`,
    [
      initial(),
      cancellation(5, 'CUSTOMER_SUPPORT', { price: -9.99 }),
      expiration(5.01, 'CUSTOMER_SUPPORT'),
    ],
  ],
  'the purchase is paused until a known date': [
    31,
    'Access is off: prod_example_pro from the Play Store was paused on 31 October 2026, 00:00 UTC and resumes on 30 November 2026, 00:00 UTC.',
    [initial(play), paused({ auto_resume_day: 60 }), expiration(30, 'SUBSCRIPTION_PAUSED', play)],
  ],
  'the purchase is paused indefinitely': [
    31,
    'Access is off: prod_example_pro from the Play Store was paused on 31 October 2026, 00:00 UTC.',
    [initial(play), expiration(30, 'SUBSCRIPTION_PAUSED', play)],
  ],
  'the purchase ended after a failed payment': [
    47,
    `Access is off: ${PRO} ended on 16 November 2026, 00:00 UTC because payment failed.`,
    [initial(), issue(30, 46), expiration(46, 'BILLING_ERROR')],
  ],
  'the reason for the cancellation is a failed payment': [
    31,
    `Access is off: ${PRO} ended on 31 October 2026, 00:00 UTC because payment failed.`,
    [initial(), cancellation(29, 'BILLING_ERROR'), expiration(30, 'BILLING_ERROR')],
  ],
  'the purchase ended after a cancellation': [
    31,
    `Access is off: ${PRO} ended on 31 October 2026, 00:00 UTC after it was cancelled on 6 October 2026, 00:00 UTC.`,
    [initial(), cancellation(5, 'UNSUBSCRIBE'), expiration(30, 'UNSUBSCRIBE')],
  ],
  'the purchase ended for an unknown reason': [
    21,
    `Access is off: ${PRO} ended on 21 October 2026, 00:00 UTC.`,
    [initial(), expiration(20, 'UNKNOWN')],
  ],
  'no renewal was received': [
    31,
    `Access is off: ${PRO} was paid until 31 October 2026, 00:00 UTC, and we received no renewal.`,
    [initial()],
  ],
  'the user has two purchases': [
    31,
    `${ON} ${PRO} is paid until 9 January 2027, 00:00 UTC and will not renew.`,
    [
      initial(),
      initial({
        type: 'NON_RENEWING_PURCHASE',
        expiration_day: 100,
        original_transaction_id: '2000',
      }),
      expiration(30, 'UNSUBSCRIBE'),
    ],
  ],
  'the purchase ends after the year 9999': [
    1,
    `${ON} ${PRO} never expires.`,
    [initial({ expiration_at_ms: Date.UTC(12_000, 0), expiration_day: undefined })],
  ],
}

test.each(Object.entries(STORIES))('explains access when %s', async (_name, story) => {
  const [day, sentence, events] = story
  await using app = await createTestApp()
  await playEvents(app, events, day)
  expect(await app.services.timeline.explain(ANN, 'production')).toBe(sentence)
})

test.each([
  ['APP_STORE', 'the App Store'],
  ['MAC_APP_STORE', 'the Mac App Store'],
  ['PLAY_STORE', 'the Play Store'],
  ['STRIPE', 'Stripe'],
  ['AMAZON', 'Amazon'],
  ['RC_BILLING', 'web billing'],
  ['PADDLE', 'Paddle'],
  ['PROMOTIONAL', 'a promotion'],
  ['GALAXY', 'GALAXY'],
])('the store %s is called %s', async (store, name) => {
  await using app = await createTestApp()
  await playEvents(app, [initial({ store })], 1)
  const sentence = await app.services.timeline.explain(ANN, 'production')
  expect(sentence).toStartWith(`${ON} prod_example_pro from ${name} is paid until`)
})

test('explains each environment separately', async () => {
  await using app = await createTestApp()
  await playEvents(app, [initial()], 1)
  const { timeline } = app.services
  expect(await timeline.explain(ANN, 'sandbox')).toBe(
    'Access is off: this account has production purchases only.',
  )
  await playEvents(app, [initial({ environment: 'SANDBOX', original_transaction_id: 'S' })], 1)
  expect(await timeline.explain(ANN, 'sandbox')).toStartWith('Access is on')
})

test('a transferred purchase belongs to its new owner', async () => {
  await using app = await createTestApp()
  const [ann, bob] = [(await app.register()).user._id, (await app.register()).user._id]
  const events = [
    lifecycle(ann, 'INITIAL_PURCHASE', 0, { purchased_day: 0, expiration_day: 30 }),
    { ...lifecycle(bob, 'UNCANCELLATION', 1), aliases: [ann, bob] },
  ]
  await playEvents(app, events, 2)
  const { timeline } = app.services
  expect(await timeline.explain(ann, 'production')).toBe(
    `Access is off: the purchases now belong to ${bob}, according to the customer’s latest event.`,
  )
  expect(await timeline.explain(bob, 'production')).toStartWith('Access is on')
  const { heldBy, ids, lines } = await timeline.read(ann, 'production')
  expect([heldBy, ids.toSorted()]).toEqual([bob, [ann, bob].toSorted()])
  expect(lines).toHaveLength(1)
  expect((await timeline.read(bob, 'production')).heldBy).toBeNull()
})
