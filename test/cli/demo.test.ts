import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { addDemoData, listDemoJobs } from '../../src/cli/demo/demo.ts'
import { createTestApp } from '../support/app.ts'

test('demo data is created through the services, and only in an empty database', async () => {
  await using app = await createTestApp()
  const { db } = app.services
  const startLines = app.lines.length
  const { users, attachments, subscriptions, billingEvents } = db.tables
  const counts = () =>
    Promise.all(
      [users, attachments, subscriptions, billingEvents].map((table) => db.read.$count(table)),
    )
  const shown = await addDemoData(app.services)
  const filled = await counts()
  expect(filled.slice(0, 2)).toEqual([150, 7])
  await addDemoData(app.services)
  expect(await counts()).toEqual(filled)
  const json = { email: 'ann@example.com', password: 'correct horse battery' }
  const { accessToken: token } = (await app.ask('POST', '/api/auth/login/v1', { json })).json
    .response
  const read = async () =>
    (await app.ask('GET', '/api/user/subscription/v1', { token })).json.response
  expect((await read()).entitlements).toMatchObject([{ id: 'pro', active: true, willRenew: true }])
  expect(shown).toContain(
    'sign in as the app user ann@example.com with the password "correct horse battery"',
  )
  const added = app.lines.slice(startLines)
  expect(added.filter((line) => /"level":"(warn|error)"/.test(line))).toEqual([])

  // One demo event has failed, and no job replays it; replaying it by hand applies it.
  const retry = 'failed billing events'
  const jobNames = async () => (await listDemoJobs(app.services)).map(({ name }) => name)
  expect(app.services.jobs.map(({ name }) => name)).toContain(retry)
  expect(await jobNames()).not.toContain(retry)
  const [failed] = await db.read
    .select()
    .from(billingEvents)
    .where(eq(billingEvents.outcome, 'failed'))
  expect(failed).toMatchObject({ type: 'CANCELLATION', error: expect.any(String) })
  await app.services.eventFolding.replay(failed?.eventId ?? '')
  expect((await read()).entitlements).toMatchObject([{ id: 'pro', active: true, willRenew: false }])
  expect(await jobNames()).toContain(retry)
  await using nonEmpty = await createTestApp()
  await nonEmpty.register()
  await addDemoData(nonEmpty.services)
  expect(await nonEmpty.services.db.read.$count(nonEmpty.services.db.tables.users)).toBe(1)
})

test('demo data fills the screens of the console', async () => {
  await using app = await createTestApp()
  const { services } = app
  const { db, figures, recorder, usage } = services
  await addDemoData(services)
  const { billingEvents, subscriptions, webhookDeliveries } = db.tables
  const events = await db.read.select().from(billingEvents)
  const has = (part: Partial<(typeof events)[number]>) =>
    events.some((event) =>
      Object.entries(part).every(([name, value]) => event[name as never] === value),
    )
  for (const type of ['NON_RENEWING_PURCHASE', 'BILLING_ISSUE', 'EXPIRATION', 'REFUND'])
    expect([type, has({ type })]).toEqual([type, true])
  expect(has({ type: 'HOMEPORT_ACCESS_GRANTED' })).toBe(true)
  expect(has({ environment: 'SANDBOX' })).toBe(true)
  expect(events.some(({ appUserId }) => appUserId?.startsWith('$RCAnonymousID:'))).toBe(true)
  const bodies = events.map(({ body }) => Buffer.from(body).toString())
  for (const text of ['"APP_STORE"', '"PLAY_STORE"', '"TRIAL"', 'price_example_pro_year'])
    expect([text, bodies.some((body) => body.includes(text))]).toEqual([text, true])
  const times = events.map(({ eventAt, receivedAt }) => [eventAt, receivedAt])
  expect(times.filter(([at, received]) => received?.getTime() !== at?.getTime())).toEqual([])
  expect(await db.read.$count(subscriptions)).toBeGreaterThan(90)

  // Counted immediately, without the delay of later events.
  const { months, progress } = await figures.read({})
  expect(progress).toEqual({ counting: null, behindSince: null })
  expect(months.slice(1).filter(({ active, paid }) => active === 0 || paid === 0)).toEqual([])
  expect(months.at(-1)?.refunded).toBeGreaterThan(0)

  for (const hours of [1, 24, 168]) {
    const { current } = await recorder.charts.traffic({ hours, earlier: [] })
    expect([hours, current.filter((point) => point === null).length <= 1]).toEqual([hours, true])
  }
  const { users } = await usage.listMostUsed('aiMonthlyCreditLimit')
  expect(users.length).toBeGreaterThan(20)
  expect(users.some(({ hasReachedLimit }) => hasReachedLimit)).toBe(true)
  const deliveries = await db.read.select().from(webhookDeliveries)
  expect(new Set(deliveries.map(({ state }) => state))).toEqual(new Set(['delivered', 'failed']))
})

test('each named demo user is in one typical state', async () => {
  await using app = await createTestApp()
  const { services } = app
  const { db, accounts } = services
  await addDemoData(services)
  const { accessStates } = db.tables
  const states: Record<string, string | null> = {}
  for (const name of ['ann', 'bob', 'carla', 'deniz', 'eve', 'farid', 'grace']) {
    const account = await accounts.findByEmail(db.read, `${name}@example.com`)
    const [state] = await db.read
      .select()
      .from(accessStates)
      .where(eq(accessStates.userId, account?.id ?? ''))
    states[name] = state?.status ?? null
  }
  expect(states).toEqual({
    ann: 'paying',
    bob: 'paying',
    carla: 'cancelled',
    deniz: 'billing_issue',
    eve: 'expired',
    farid: null,
    grace: 'expired',
  })
})
