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

const PRO = 'Pro, monthly.'
const paused = (fields = {}) =>
  lifecycle(ANN, 'SUBSCRIPTION_PAUSED', 10, { ...play, purchased_day: 0, ...fields })

const coins = (at: number) =>
  lifecycle(ANN, 'NON_RENEWING_PURCHASE', at, {
    product_id: 'coins',
    entitlement_ids: null,
    purchased_day: at,
    transaction_id: 'C1',
    original_transaction_id: 'C1',
  })

const STORIES: Record<string, Story> = {
  'no event mentions the user': [
    1,
    'We have no purchase for this account.',
    [lifecycle('another user', 'INITIAL_PURCHASE', 0, { purchased_day: 0, expiration_day: 30 })],
  ],
  'the user has events but no purchase': [
    1,
    'We have events for this account, but no purchase.',
    [{ type: 'TRANSFER', at: 0, transferred_from: ['z'], transferred_to: [ANN] }],
  ],
  'all purchases are in the sandbox': [
    1,
    'This account has test purchases only.',
    [initial({ environment: 'SANDBOX' })],
  ],
  'the purchase is paid and will renew': [
    1,
    `${PRO} Renews on 31 October 2026, 00:00 UTC.`,
    [initial()],
  ],
  'the purchase was renewed': [
    31,
    `${PRO} Renews on 30 November 2026, 00:00 UTC.`,
    [initial(), renewal(30, 60)],
  ],
  'the trial is running': [
    1,
    `${PRO} In trial until 8 October 2026, 12:00 UTC, then renews.`,
    [initial({ period_type: 'TRIAL', expiration_day: 7.5 })],
  ],
  'the purchase is cancelled but still paid': [
    6,
    `${PRO} Ends on 31 October 2026, 00:00 UTC; cancelled on 6 October 2026, 00:00 UTC.`,
    [initial(), cancellation(5, 'UNSUBSCRIBE')],
  ],
  'the cancellation was reverted': [
    7,
    `${PRO} Renews on 31 October 2026, 00:00 UTC.`,
    [initial(), cancellation(5, 'UNSUBSCRIBE'), lifecycle(ANN, 'UNCANCELLATION', 6)],
  ],
  'the purchase does not renew': [
    1,
    `${PRO} Ends on 31 October 2026, 00:00 UTC.`,
    [initial({ type: 'NON_RENEWING_PURCHASE', store: 'PROMOTIONAL' })],
  ],
  'the purchase never expires': [
    9_000,
    `${PRO} Never expires.`,
    [initial({ type: 'NON_RENEWING_PURCHASE', expiration_day: null })],
  ],
  'payment failed and the grace period is running': [
    31,
    `${PRO} Payment failed; in the grace period until 16 November 2026, 00:00 UTC.`,
    [initial(), issue(30, 46), cancellation(30, 'BILLING_ERROR')],
  ],
  'payment failed and the store retries': [
    31,
    `${PRO} Paid until 30 November 2026, 00:00 UTC, but payment for the next period failed.`,
    [initial({ store: 'STRIPE' }), issue(30, null, { store: 'STRIPE', expiration_day: 60 })],
  ],
  'access is temporary because the store could not confirm the purchase': [
    0.5,
    `${PRO} Access until 2 October 2026, 00:00 UTC only, because the store could not confirm the purchase.`,
    [{ ...initial({ expiration_day: 5 }), type: 'TEMPORARY_ENTITLEMENT_GRANT' }],
  ],
  'no plan includes the product': [
    1,
    'other from the App Store. Renews on 31 October 2026, 00:00 UTC. No plan on sale includes this product.',
    [initial({ product_id: 'other' })],
  ],
  'the product unlocks nothing': [
    1,
    'other from the App Store. Renews on 31 October 2026, 00:00 UTC. No plan on sale includes this product, so it unlocks nothing.',
    [initial({ product_id: 'other', entitlement_ids: null })],
  ],
  'coins were bought in addition to a subscription that has ended': [
    31,
    `${PRO} Paid until 31 October 2026, 00:00 UTC; no renewal received.`,
    [initial(), coins(5)],
  ],
  'only coins were bought': [31, 'No subscription, only one-time purchases.', [coins(5)]],
  'product and store are unknown': [
    1,
    'Unknown product. Renews on 31 October 2026, 00:00 UTC. No plan on sale includes this product.',
    [{ ...initial({ product_id: undefined, store: undefined }), type: 'UNCANCELLATION' }],
  ],
  'the purchase was refunded': [
    6,
    `${PRO} Refunded on 6 October 2026, 00:00 UTC.`,
    [
      initial(),
      cancellation(5, 'CUSTOMER_SUPPORT', { price: -9.99 }),
      expiration(5.01, 'CUSTOMER_SUPPORT'),
    ],
  ],
  'the purchase is paused until a known date': [
    31,
    `${PRO} Paused on 31 October 2026, 00:00 UTC; resumes on 30 November 2026, 00:00 UTC.`,
    [initial(play), paused({ auto_resume_day: 60 }), expiration(30, 'SUBSCRIPTION_PAUSED', play)],
  ],
  'the purchase is paused indefinitely': [
    31,
    `${PRO} Paused on 31 October 2026, 00:00 UTC.`,
    [initial(play), expiration(30, 'SUBSCRIPTION_PAUSED', play)],
  ],
  'the purchase ended after a failed payment': [
    47,
    `${PRO} Ended on 16 November 2026, 00:00 UTC because payment failed.`,
    [initial(), issue(30, 46), expiration(46, 'BILLING_ERROR')],
  ],
  'the reason for the cancellation is a failed payment': [
    31,
    `${PRO} Ended on 31 October 2026, 00:00 UTC because payment failed.`,
    [initial(), cancellation(29, 'BILLING_ERROR'), expiration(30, 'BILLING_ERROR')],
  ],
  'the purchase ended after a cancellation': [
    31,
    `${PRO} Ended on 31 October 2026, 00:00 UTC; cancelled on 6 October 2026, 00:00 UTC.`,
    [initial(), cancellation(5, 'UNSUBSCRIBE'), expiration(30, 'UNSUBSCRIBE')],
  ],
  'the purchase ended for an unknown reason': [
    21,
    `${PRO} Ended on 21 October 2026, 00:00 UTC.`,
    [initial(), expiration(20, 'UNKNOWN')],
  ],
  'no renewal was received': [
    31,
    `${PRO} Paid until 31 October 2026, 00:00 UTC; no renewal received.`,
    [initial()],
  ],
  'the user has two purchases': [
    31,
    `${PRO} Ends on 9 January 2027, 00:00 UTC.`,
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
    `${PRO} Never expires.`,
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
  ['PLAY_STORE', 'Google Play'],
  ['STRIPE', 'Stripe'],
  ['AMAZON', 'Amazon'],
  ['RC_BILLING', 'web billing'],
  ['PADDLE', 'Paddle'],
  ['PROMOTIONAL', 'a promotion'],
  ['GALAXY', 'GALAXY'],
])('the store %s is called %s', async (store, name) => {
  await using app = await createTestApp()
  await playEvents(app, [initial({ store, product_id: 'other' })], 1)
  const sentence = await app.services.timeline.explain(ANN, 'production')
  expect(sentence).toStartWith(`other from ${name}. Renews on`)
})

test('explains each environment separately', async () => {
  await using app = await createTestApp()
  await playEvents(app, [initial()], 1)
  const { timeline } = app.services
  expect(await timeline.explain(ANN, 'sandbox')).toBe('This account has production purchases only.')
  await playEvents(app, [initial({ environment: 'SANDBOX', original_transaction_id: 'S' })], 1)
  expect(await timeline.explain(ANN, 'sandbox')).toStartWith('Pro, monthly. Renews')
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
    `The purchases now belong to ${bob}, according to the customer’s latest event.`,
  )
  expect(await timeline.explain(bob, 'production')).toStartWith('Pro, monthly. Renews')
  const { heldBy, ids, lines } = await timeline.read(ann, 'production')
  expect([heldBy, ids.toSorted()]).toEqual([bob, [ann, bob].toSorted()])
  expect(lines).toHaveLength(1)
  expect((await timeline.read(bob, 'production')).heldBy).toBeNull()
})
