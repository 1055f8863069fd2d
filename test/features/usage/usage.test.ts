import { expect, test } from 'bun:test'
import { serverClient } from '../../support/api-keys.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { deliver, lifecycle } from '../../support/billing.ts'
import { mapConcurrently, times } from '../../support/instances.ts'
import { publishPlans } from '../../support/plans.ts'

const NOW = new Date('2026-07-06T14:00:00Z')

/** A user whose plan allows 10 exports a month, 3 scans a day, 5 projects in all, and any number of views. */
async function setUp(app: TestApp) {
  app.clock.now = new Date(NOW)
  await publishPlans(app, [
    {
      code: 'free',
      limits: { exports: 10, scans: 3, projects: 5, views: null },
      limitPeriods: { scans: 'day', projects: 'total' },
    },
    { code: 'pro', limits: { exports: 500, reports: 7 } },
  ])
  const { user, accessToken } = await app.register()
  const ask = await serverClient(app)
  const use = async (limit: string, amount: number, more: object = {}) => {
    const json = { userId: user._id, limit, amount, ...more }
    return (await ask('POST', 'usage/v1', { json })).json
  }
  return { userId: user._id, token: accessToken, ask, use }
}

test('counts up to the limit and refuses what would exceed it', async () => {
  await using app = await createTestApp()
  const { use } = await setUp(app)
  const resetsAt = '2026-08-01T00:00:00.000Z'
  const state = { limit: 10, resetsAt }
  expect((await use('exports', 9)).response).toEqual({
    ...state,
    allowed: true,
    used: 9,
    remaining: 1,
    repeated: false,
  })
  expect((await use('exports', 2)).response).toMatchObject({ allowed: false, used: 9 })
  expect((await use('exports', 1)).response).toMatchObject({ allowed: true, used: 10 })
  expect((await use('exports', 1)).response).toMatchObject({ allowed: false, remaining: 0 })
  expect((await use('exports', -4)).response).toMatchObject({ allowed: true, used: 6 })
  expect((await use('exports', -100)).response).toMatchObject({ allowed: true, used: 0 })
})

test('a dry run records no usage', async () => {
  await using app = await createTestApp()
  const { use } = await setUp(app)
  const dry = await use('exports', 10, { dryRun: true })
  expect(dry.response).toMatchObject({ allowed: true, used: 10 })
  expect((await use('exports', 11, { dryRun: true })).response.allowed).toBe(false)
  expect((await use('exports', 1)).response.used).toBe(1)
})

test('counts against an unlimited limit, and treats a limit of another plan as 0', async () => {
  await using app = await createTestApp()
  const { use } = await setUp(app)
  const views = await use('views', 1_000_000)
  expect(views.response).toMatchObject({ allowed: true, limit: null, remaining: null })
  expect((await use('reports', 1)).response).toMatchObject({ allowed: false, limit: 0 })
  const unknown = await use('exprots', 1)
  expect([unknown.code, unknown.details[0].path]).toEqual(['validation_failed', 'limit'])
})

test('a repeated idempotency key gets the first outcome for 24 hours', async () => {
  await using app = await createTestApp()
  const { use } = await setUp(app)
  const idempotencyKey = 'order-1'
  const first = await use('views', 4, { idempotencyKey })
  await use('views', 1)
  const again = await use('views', 4, { idempotencyKey })
  expect(again.response).toEqual({ ...first.response, repeated: true })
  const other = await use('views', 5, { idempotencyKey })
  expect([other.code, other.details[0].path]).toEqual(['validation_failed', 'idempotencyKey'])
  app.clock.advance(24 * 3_600_000)
  expect((await use('views', 4, { idempotencyKey })).response).toMatchObject({
    used: 9,
    repeated: false,
  })
})

test('100 concurrent repetitions of one use count once', async () => {
  await using app = await createTestApp()
  const { use } = await setUp(app)
  const outcomes = await mapConcurrently(times(100), () =>
    use('views', 3, { idempotencyKey: 'once' }),
  )
  expect(new Set(outcomes.map(({ response }) => response.used))).toEqual(new Set([3]))
})

test('1,000 concurrent uses of a limit of 500 are allowed exactly 500 times', async () => {
  await using app = await createTestApp()
  const { use } = await setUp(app)
  await publishPlans(app, [{ code: 'free', limits: { exports: 500 }, limitPeriods: {} }])
  const outcomes = await Promise.all(times(1_000).map(() => use('exports', 1)))
  expect(outcomes.filter(({ response }) => response.allowed)).toHaveLength(500)
  expect((await use('exports', 0)).response).toMatchObject({ used: 500, remaining: 0 })
})

test('a limit may have the name of an inherited member', async () => {
  await using app = await createTestApp()
  const { ask, userId } = await setUp(app)
  await publishPlans(app, [{ code: 'free', limits: { constructor: 7 }, limitPeriods: {} }])
  const { status, json } = await ask('GET', `usage/v1?userId=${userId}`)
  expect(status).toBe(200)
  expect(json.response).toContainEqual(
    expect.objectContaining({ name: 'constructor', period: 'month' }),
  )
})

test('each limit resets with its own period', async () => {
  await using app = await createTestApp()
  const { use, ask, userId } = await setUp(app)
  for (const limit of ['exports', 'scans', 'projects']) await use(limit, 2)
  const used = async () => {
    const { response } = (await ask('GET', `usage/v1?userId=${userId}`)).json
    const find = (wanted: string) =>
      response.find(({ name }: { name: string }) => name === wanted).used
    return ['exports', 'scans', 'projects'].map(find)
  }
  expect(await used()).toEqual([2, 2, 2])
  app.clock.now = new Date('2026-07-07T00:00:00Z')
  expect(await used()).toEqual([2, 0, 2])
  app.clock.now = new Date('2026-08-01T00:00:00Z')
  expect(await used()).toEqual([0, 0, 2])
  expect((await use('exports', 1)).response.used).toBe(1)
})

test('the app reads the usage of standard and custom limits', async () => {
  await using app = await createTestApp()
  const { use, token } = await setUp(app)
  await use('exports', 3)
  const { response } = (await app.ask('GET', '/api/user/usage/v1', { token })).json
  expect(response.map(({ name }: { name: string }) => name)).toEqual([
    'seatLimit',
    'appLimit',
    'keywordLimit',
    'apiRequestLimit',
    'competitorLimitPerApp',
    'aiMonthlyCreditLimit',
    'storefrontLimit',
    'exports',
    'scans',
    'projects',
    'views',
  ])
  expect(response[7]).toEqual({
    name: 'exports',
    period: 'month',
    used: 3,
    limit: 10,
    remaining: 7,
    resetsAt: '2026-08-01T00:00:00.000Z',
  })
})

test('past periods become a history by month, which is exported and deleted after 13 months', async () => {
  await using app = await createTestApp()
  const { use, userId, token } = await setUp(app)
  const { usage, db } = app.services
  await use('scans', 2)
  app.clock.now = new Date('2026-07-07T10:00:00Z')
  await use('scans', 3)
  await use('projects', 1)
  app.clock.now = new Date('2026-08-02T00:00:00Z')
  await usage.archiveAndDeleteOld(new AbortController().signal)
  expect(await db.read.$count(db.tables.usageCounters)).toBe(1)
  const exported = await app.services.exportData(userId)
  expect(exported['usage']).toEqual([
    { name: 'scans', since: '2026-07', used: 5 },
    { name: 'projects', since: '1970-01-01', used: 1 },
  ])
  expect((await app.ask('GET', '/api/user/export/v1', { token })).status).toBe(401)
  app.clock.now = new Date('2027-09-01T00:00:00Z')
  await usage.archiveAndDeleteOld(new AbortController().signal)
  expect(await db.read.$count(db.tables.usageHistory)).toBe(0)
})

test('a guest’s usage counts for the account that the guest signs in to', async () => {
  await using app = await createTestApp()
  const { use, userId } = await setUp(app)
  await use('exports', 2)
  const guest = (await app.ask('POST', '/api/auth/guest/v1')).json.response
  const { usage, db } = app.services
  await usage.consume({ userId: guest.user._id, limit: 'exports', amount: 3 })
  await usage.consume({ userId: guest.user._id, limit: 'projects', amount: 4 })
  await db.write((tx) => usage.mergeGuest(tx, guest.user._id, userId))
  const used = Object.fromEntries((await usage.read(userId)).map(({ name, used }) => [name, used]))
  expect(used).toMatchObject({ exports: 5, projects: 4 })
})

test('a user who returns to a former plan keeps its usage in the month', async () => {
  await using app = await createTestApp()
  const { use, userId } = await setUp(app)
  await use('exports', 10)
  const fields = { product_id: 'p', entitlement_ids: ['pro'] }
  const at = NOW.getTime()
  const bought = { purchased_at_ms: at, expiration_at_ms: at + 86_400_000 }
  const send = (type: string, more: object) =>
    deliver(app, lifecycle(userId, type, 0, { ...fields, ...more, event_timestamp_ms: now() }))
  const now = () => app.clock.now.getTime()
  await send('INITIAL_PURCHASE', bought)
  expect((await use('exports', 400)).response).toMatchObject({ allowed: true, limit: 500 })
  app.clock.advance(86_400_000)
  expect((await use('exports', 1)).response).toMatchObject({ allowed: false, used: 10, limit: 10 })
  await send('RENEWAL', { ...bought, expiration_at_ms: at + 20 * 86_400_000 })
  expect((await use('exports', 1)).response).toMatchObject({ used: 401, limit: 500 })
})

test('standard limits count per month or in total, as their names say', async () => {
  await using app = await createTestApp()
  const { userId } = await setUp(app)
  const periods = (await app.services.usage.read(userId)).map(({ name, period }) => [name, period])
  expect(Object.fromEntries(periods)).toMatchObject({
    seatLimit: 'total',
    storefrontLimit: 'total',
    apiRequestLimit: 'month',
    aiMonthlyCreditLimit: 'month',
    scans: 'day',
    projects: 'total',
    exports: 'month',
  })
})

test('lists the users who have used the most of a limit', async () => {
  await using app = await createTestApp()
  const { use, userId } = await setUp(app)
  const eve = (await app.register('eve@example.com')).user._id
  await use('exports', 10)
  await app.services.usage.consume({ userId: eve, limit: 'exports', amount: 4 })
  const { names, users } = await app.services.usage.listMostUsed('exports')
  expect(names).toContain('views')
  expect(users).toMatchObject([
    { userId, used: 10, hasReachedLimit: true },
    { userId: eve, used: 4, hasReachedLimit: false },
  ])
})

test('a counter is kept for four days after its period, because the end may have moved', async () => {
  await using app = await createTestApp()
  const { use } = await setUp(app)
  const { usage, db } = app.services
  await use('exports', 3)
  const counters: number[] = []
  for (const time of ['2026-08-04T01:00:00Z', '2026-08-05T01:00:00Z']) {
    app.clock.now = new Date(time)
    await usage.archiveAndDeleteOld(new AbortController().signal)
    counters.push(await db.read.$count(db.tables.usageCounters))
  }
  expect(counters).toEqual([1, 0])
})
