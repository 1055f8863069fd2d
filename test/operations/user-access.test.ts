import { describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/app.ts'
import { deliver, lifecycle, ms, purchase } from '../support/billing.ts'
import { signInOperator } from '../support/operator.ts'

type Row = { email: string }

/** What happens to a user's purchase, and the status in the list on day 20. */
const HISTORIES: [status: string, events: [type: string, day: number, fields?: object][]][] = [
  ['paying', [['INITIAL_PURCHASE', 0]]],
  ['trial', [['INITIAL_PURCHASE', 0, { period_type: 'TRIAL' }]]],
  [
    'cancelled',
    [
      ['INITIAL_PURCHASE', 0],
      ['CANCELLATION', 5, { cancel_reason: 'UNSUBSCRIBE' }],
    ],
  ],
  [
    'cancelled',
    [
      ['INITIAL_PURCHASE', 0, { period_type: 'TRIAL' }],
      ['CANCELLATION', 5, { cancel_reason: 'UNSUBSCRIBE', period_type: 'TRIAL' }],
    ],
  ],
  [
    'billing_issue',
    [
      ['INITIAL_PURCHASE', 0],
      ['BILLING_ISSUE', 19, { grace_period_expiration_day: 26 }],
    ],
  ],
  ['expired', [['INITIAL_PURCHASE', 0, { expiration_day: 10 }]]],
  [
    'expired',
    [
      ['INITIAL_PURCHASE', 0],
      ['REFUND', 3],
    ],
  ],
  ['none', []],
]

describe('the status', () => {
  test.each(HISTORIES)('%s', async (status, events) => {
    await using app = await createTestApp()
    app.clock.now = new Date(ms(20))
    const { user } = await app.register('ann@example.com')
    for (const [type, day, fields] of events) {
      const period = { purchased_day: 0, expiration_day: 30 }
      await deliver(app, lifecycle(user._id, type, day, { ...period, ...fields }))
    }
    const browser = await signInOperator(app, { role: 'reader' })
    const { users, total } = await browser.read(`people?status=${status}`)
    expect(users).toMatchObject([{ email: 'ann@example.com', status }])
    expect(total).toBe(1)
    const other = status === 'paying' ? 'trial' : 'paying'
    expect(await browser.read(`people?status=${other}`)).toMatchObject({ users: [], total: 0 })
  })

  test('of granted access is separate', async () => {
    await using app = await createTestApp()
    const { user } = await app.register('ann@example.com')
    const support = { by: 'dana', reason: 'beta tester' }
    const grant = { userId: user._id, entitlementId: 'pro', until: null, ...support }
    await app.services.grants.create(grant)
    expect(await list(app, 'status=granted')).toEqual(['ann'])
  })

  test('changes with time, without an event', async () => {
    await using app = await createTestApp()
    app.clock.now = new Date(ms(1))
    const { user } = await app.register('ann@example.com')
    await deliver(app, purchase(user._id))
    expect(await list(app, 'status=paying')).toEqual(['ann'])
    app.clock.now = new Date(ms(31))
    await app.services.accessStates.announceDue(new AbortController().signal)
    expect(await list(app, 'status=expired')).toEqual(['ann'])
    expect(await list(app, 'plan=pro_month')).toEqual([])
  })

  test('ignores test purchases', async () => {
    await using app = await createTestApp()
    app.clock.now = new Date(ms(1))
    const { user } = await app.register('ann@example.com')
    await deliver(app, purchase(user._id, { environment: 'SANDBOX' }))
    expect(await list(app, 'status=none')).toEqual(['ann'])
    expect(await list(app, 'status=paying')).toEqual([])
  })

  test('of earlier customers is backfilled', async () => {
    await using app = await createTestApp()
    app.clock.now = new Date(ms(1))
    const { user } = await app.register('ann@example.com')
    await deliver(app, purchase(user._id))
    const { db, accessStates } = app.services
    const nothing = { status: null, plan: null }
    await db.write(async (tx) => void (await tx.update(db.tables.accessStates).set(nothing)))
    expect(await list(app, 'status=paying')).toEqual([])
    await accessStates.followPlans(new AbortController().signal)
    expect(await list(app, 'status=paying')).toEqual(['ann'])
    expect(await list(app, 'plan=pro_month')).toEqual(['ann'])
  })
})

test('shows a user’s access at a glance', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const { user } = await app.register('ann@example.com', { 'app-platform': 'ios' })
  await deliver(app, purchase(user._id))
  const reader = await signInOperator(app, { role: 'reader' })
  expect(await reader.read(`people/${user._id}`)).toMatchObject({
    access: {
      sentence: expect.stringMatching(/^Pro, monthly\. Renews on /),
      status: 'paying',
      plan: 'pro_month',
      store: 'APP_STORE',
      willRenew: true,
      isActive: true,
      endsAt: new Date(ms(30)).toISOString(),
    },
    account: { lastSeenAt: app.clock.now.toISOString(), platform: 'ios', country: null },
  })
})

/** The names in the addresses of the users that match. */
async function list(app: TestApp, query: string): Promise<string[]> {
  const browser = await signInOperator(app, { name: crypto.randomUUID().slice(0, 8) })
  const { users } = await browser.read(`people?${query}`)
  return users.map(({ email }: Row) => email.split('@')[0])
}
