import { expect, test } from 'bun:test'
import { createTestApp } from '../../../support/app.ts'
import { lifecycle, type Told } from '../../../support/billing.ts'
import {
  cancellation,
  expiration,
  initial,
  issue,
  play,
  renewal,
  U,
} from '../../../support/flows/events.ts'
import { tell } from '../../../support/telling.ts'

type Story = [day: number, sentence: string, events: Told[]]

const PRO = 'prod_example_pro from the App Store'
const ON = 'Access is on with the plan pro_month:'
const paused = (fields = {}) =>
  lifecycle(U, 'SUBSCRIPTION_PAUSED', 10, { ...play, purchased_day: 0, ...fields })

const STORIES: Record<string, Story> = {
  'nobody has named the person': [
    1,
    `Access is off: no billing event has ever named ${U}.`,
    [lifecycle('somebody else', 'INITIAL_PURCHASE', 0, { purchased_day: 0, expiration_day: 30 })],
  ],
  'what was named is no purchase of theirs': [
    1,
    `Access is off: events name ${U}, but none of them is about a purchase of theirs.`,
    [{ type: 'TRANSFER', at: 0, transferred_from: ['z'], transferred_to: [U] }],
  ],
  'there is only the sandbox': [
    1,
    'Access is off: there are purchases in the sandbox only, none in production.',
    [initial({ environment: 'SANDBOX' })],
  ],
  'it is paid and will renew': [
    1,
    `${ON} ${PRO} is paid until 31 October 2026, 00:00 UTC and will renew.`,
    [initial()],
  ],
  'it was renewed': [
    31,
    `${ON} ${PRO} is paid until 30 November 2026, 00:00 UTC and will renew.`,
    [initial(), renewal(30, 60)],
  ],
  'it is in its trial': [
    1,
    `${ON} ${PRO} is in its trial until 8 October 2026, 12:00 UTC and will renew.`,
    [initial({ period_type: 'TRIAL', expiration_day: 7.5 })],
  ],
  'it was cancelled and is paid for a while': [
    6,
    `${ON} ${PRO} is paid until 31 October 2026, 00:00 UTC and will not renew (cancelled on 6 October 2026, 00:00 UTC).`,
    [initial(), cancellation(5, 'UNSUBSCRIBE')],
  ],
  'the cancellation was taken back': [
    7,
    `${ON} ${PRO} is paid until 31 October 2026, 00:00 UTC and will renew.`,
    [initial(), cancellation(5, 'UNSUBSCRIBE'), lifecycle(U, 'UNCANCELLATION', 6)],
  ],
  'it ends by itself': [
    1,
    `${ON} prod_example_pro from a promotion is paid until 31 October 2026, 00:00 UTC and will not renew.`,
    [initial({ type: 'NON_RENEWING_PURCHASE', store: 'PROMOTIONAL' })],
  ],
  'it was bought for good': [
    9_000,
    `${ON} ${PRO} was bought for good.`,
    [initial({ type: 'NON_RENEWING_PURCHASE', expiration_day: null })],
  ],
  'it could not be charged and has time': [
    31,
    `${ON} ${PRO} could not be charged, and has time until 16 November 2026, 00:00 UTC to be paid.`,
    [initial(), issue(30, 46), cancellation(30, 'BILLING_ERROR')],
  ],
  'it could not be charged and is tried again': [
    31,
    `${ON} prod_example_pro from Stripe could not be charged, and is paid until 30 November 2026, 00:00 UTC.`,
    [initial({ store: 'STRIPE' }), issue(30, null, { store: 'STRIPE', expiration_day: 60 })],
  ],
  'it is granted while the store cannot be asked': [
    0.5,
    `${ON} ${PRO} is granted until 2 October 2026, 00:00 UTC, while the store cannot be asked.`,
    [{ ...initial({ expiration_day: 5 }), type: 'TEMPORARY_ENTITLEMENT_GRANT' }],
  ],
  'no plan names the product': [
    1,
    'Access is on: other from the App Store is paid until 31 October 2026, 00:00 UTC and will renew, but no plan on sale names this product, so no plan is given.',
    [initial({ product_id: 'other' })],
  ],
  'neither product nor store is known': [
    1,
    'Access is on: a purchase is paid until 31 October 2026, 00:00 UTC and will renew, but no plan on sale names this product, so no plan is given.',
    [initial({ product_id: undefined, store: undefined })],
  ],
  'it was refunded': [
    6,
    `Access is off: ${PRO} was refunded on 6 October 2026, 00:00 UTC.`,
    [
      initial(),
      cancellation(5, 'CUSTOMER_SUPPORT', { price: -9.99 }),
      expiration(5.01, 'CUSTOMER_SUPPORT'),
    ],
  ],
  'it is paused and resumes': [
    31,
    'Access is off: prod_example_pro from the Play Store was paused on 31 October 2026, 00:00 UTC and resumes on 30 November 2026, 00:00 UTC.',
    [initial(play), paused({ auto_resume_day: 60 }), expiration(30, 'SUBSCRIPTION_PAUSED', play)],
  ],
  'it is paused, nobody knows until when': [
    31,
    'Access is off: prod_example_pro from the Play Store was paused on 31 October 2026, 00:00 UTC.',
    [initial(play), expiration(30, 'SUBSCRIPTION_PAUSED', play)],
  ],
  'it ended, for it could not be charged': [
    47,
    `Access is off: ${PRO} ended on 16 November 2026, 00:00 UTC, because it could not be charged.`,
    [initial(), issue(30, 46), expiration(46, 'BILLING_ERROR')],
  ],
  'it ended, for the cancellation says that it could not be charged': [
    31,
    `Access is off: ${PRO} ended on 31 October 2026, 00:00 UTC, because it could not be charged.`,
    [initial(), cancellation(29, 'BILLING_ERROR'), expiration(30, 'BILLING_ERROR')],
  ],
  'it ended after it was cancelled': [
    31,
    `Access is off: ${PRO} ended on 31 October 2026, 00:00 UTC, after it was cancelled on 6 October 2026, 00:00 UTC.`,
    [initial(), cancellation(5, 'UNSUBSCRIBE'), expiration(30, 'UNSUBSCRIBE')],
  ],
  'it ended, nobody says why': [
    21,
    `Access is off: ${PRO} ended on 21 October 2026, 00:00 UTC.`,
    [initial(), expiration(20, 'UNKNOWN')],
  ],
  'no event has said that it was renewed': [
    31,
    `Access is off: ${PRO} was paid until 31 October 2026, 00:00 UTC, and no event has said that it was renewed.`,
    [initial()],
  ],
  'the best of two counts': [
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
  'it ends in a year that no app can read': [
    1,
    `${ON} ${PRO} was bought for good.`,
    [initial({ expiration_at_ms: Date.UTC(12_000, 0), expiration_day: undefined })],
  ],
}

test.each(Object.entries(STORIES))('when %s, the sentence says so', async (_name, story) => {
  const [day, sentence, events] = story
  await using app = await createTestApp()
  await tell(app, events, day)
  expect(await app.services.timeline.explain(U, 'production')).toBe(sentence)
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
  await tell(app, [initial({ store })], 1)
  const sentence = await app.services.timeline.explain(U, 'production')
  expect(sentence).toStartWith(`${ON} prod_example_pro from ${name} is paid until`)
})

test('each environment is explained on its own', async () => {
  await using app = await createTestApp()
  await tell(app, [initial()], 1)
  const { timeline } = app.services
  expect(await timeline.explain(U, 'sandbox')).toBe(
    'Access is off: there are purchases in production only, none in the sandbox.',
  )
  await tell(app, [initial({ environment: 'SANDBOX', original_transaction_id: 'S' })], 1)
  expect(await timeline.explain(U, 'sandbox')).toStartWith('Access is on')
})

test('what another person holds is theirs, and both are told', async () => {
  await using app = await createTestApp()
  const [ann, bob] = [(await app.register()).user._id, (await app.register()).user._id]
  const events = [
    lifecycle(ann, 'INITIAL_PURCHASE', 0, { purchased_day: 0, expiration_day: 30 }),
    { ...lifecycle(bob, 'UNCANCELLATION', 1), aliases: [ann, bob] },
  ]
  await tell(app, events, 2)
  const { timeline } = app.services
  expect(await timeline.explain(ann, 'production')).toBe(
    `Access is off: what was bought belongs to ${bob} now, whom the latest event of the same customer names.`,
  )
  expect(await timeline.explain(bob, 'production')).toStartWith('Access is on')
  const { heldBy, ids, lines } = await timeline.read(ann, 'production')
  expect([heldBy, ids.toSorted()]).toEqual([bob, [ann, bob].toSorted()])
  expect(lines).toHaveLength(1)
  expect((await timeline.read(bob, 'production')).heldBy).toBeNull()
})
