import { expect, test } from 'bun:test'
import { createClock, createTestApp } from '../../../support/app.ts'
import { runCommand } from '../../../support/commands.ts'
import { fillDatabase, onSqlite } from '../../../support/databases.ts'
import { servePlayApi } from '../../../support/play-store/api.ts'
import { PACKAGE_NAME } from '../../../support/play-store/formats.ts'
import { createPlayStore } from '../../../support/play-store/play-store.ts'
import { drain, listEvents, report } from '../../../support/play-store/reports.ts'
import { createPlayWorld, PLAY_PATH } from '../../../support/play-store/world.ts'

const common = { version: '1.0', packageName: PACKAGE_NAME, eventTimeMillis: '1790000000000' }

test('queries Google after a notification, and the response gives access', async () => {
  await using world = await createPlayWorld()
  const { api, store, userId } = world
  const bought = store.buy({ userId })
  await report(world, bought.notification)
  expect(api.purchaseRequests.map(({ request }) => request)).toEqual([
    'GET subscriptionsv2',
    'POST acknowledge',
  ])
  expect(await world.listSubscriptions()).toMatchObject([
    { status: 'active', active: true, productId: 'pro_month:monthly', store: 'PLAY_STORE' },
  ])
})

test('the error for a push with payload unwrapping says what to turn off', async () => {
  await using world = await createPlayWorld()
  const { app, store } = world
  const reply = await world.ask(store.buy().notification ?? {}, { isUnwrapped: true })
  expect([reply.status, reply.json.code]).toEqual([400, 'malformed_request'])
  expect(reply.json.message).toContain('Turn off payload unwrapping')
  expect((await app.services.eventSearch.countStored()).events).toBe(0)
})

test.each([
  ['another package', { packageName: 'com.example.other' }, {}],
  ['another Pub/Sub subscription', {}, { subscription: 'projects/other/subscriptions/x' }],
])('a push about %s is not recorded', async (_name, fields, overrides) => {
  await using world = await createPlayWorld({
    PLAY_PUSH_SUBSCRIPTION: 'projects/example-project/subscriptions/play-notifications',
  })
  const { app, api, store } = world
  const { notification } = store.buy()
  const reply = await world.ask({ ...notification, ...fields }, overrides)
  expect([reply.status, reply.json.code]).toEqual([200, 'ignored'])
  await drain(world)
  expect((await app.services.eventSearch.countStored()).events).toBe(0)
  expect(api.purchaseRequests).toEqual([])
})

test.each([
  ['not JSON', { data: Buffer.from('{').toString('base64') }],
  ['not base64', { data: '%%%' }],
  ['a list', { data: Buffer.from('[]').toString('base64') }],
])('data that is %s is recorded as failed and listed for operators', async (_name, overrides) => {
  await using world = await createPlayWorld()
  const { app } = world
  const { status } = await world.ask({}, overrides)
  expect(status).toBe(200)
  const { outcome } = await runCommand(app, 'events list', [], { failed: true })
  expect(outcome).toMatchObject([{ type: 'PLAY_UNREADABLE', outcome: 'failed' }])
  expect((await listEvents(world))[0]?.error).toContain('JSON')
  await app.services.eventFolding.retryFailed(AbortSignal.timeout(5_000))
  const countFailed = async () => (await app.services.eventSearch.countMarked()).failed
  expect(await countFailed()).toBe(1)
  const { printed } = await runCommand(app, 'events retry', [], { failed: true })
  expect([printed, await countFailed()]).toEqual([expect.stringContaining('1'), 0])
})

test('a notification of two kinds, or of none, is recorded as failed and causes no query', async () => {
  await using world = await createPlayWorld()
  const { api, store } = world
  const both = { ...store.buy().notification, testNotification: { version: '1.0' } }
  for (const notification of [both, common]) {
    expect((await world.ask(notification)).status).toBe(200)
  }
  await drain(world)
  expect(await listEvents(world)).toMatchObject([
    { outcome: 'failed', error: 'The notification has 2 kinds instead of one.' },
    { outcome: 'failed', error: 'The notification has 0 kinds instead of one.' },
  ])
  expect(api.purchaseRequests).toEqual([])
})

test('a repeated push is a duplicate, and the same notification under another id changes nothing', async () => {
  await using world = await createPlayWorld()
  const { app, api, store, userId } = world
  const { notification } = store.buy({ userId })
  await world.push(notification, { messageId: '1' })
  await drain(world)
  app.clock.advance(1)
  // The first response said that the purchase was not acknowledged.
  await report(world, notification)
  expect(await world.push(notification, { messageId: '1' })).toBe('duplicate')
  const states = async () =>
    (await listEvents(world)).filter(({ type }) => !type.startsWith('PLAY_')).length
  await drain(world)
  const before = [await states(), await world.listSubscriptions()]
  const requestCount = api.purchaseRequests.length
  await world.push(notification, { messageId: '2' })
  await drain(world)
  expect(api.purchaseRequests.length).toBe(requestCount + 1)
  expect([await states(), await world.listSubscriptions()]).toEqual(before)
})

test('a test notification shows that the app is connected', async () => {
  await using world = await createPlayWorld()
  const { app, api } = world
  const { status } = await world.ask({ ...common, testNotification: { version: '1.0' } })
  expect(status).toBe(200)
  await drain(world)
  expect(api.purchaseRequests).toEqual([])
  expect(await listEvents(world)).toMatchObject([{ type: 'PLAY_TEST', outcome: 'ignored' }])
  expect((await runCommand(app, 'stores status')).outcome.play.packages).toMatchObject([
    { packageName: PACKAGE_NAME, lastNotificationAt: app.clock.now.toISOString() },
  ])
})

test.each([99, '4', null])('a notification of the type %p causes a query too', async (type) => {
  await using world = await createPlayWorld()
  const { store, userId } = world
  const { token } = store.buy({ userId })
  const subscriptionNotification = { version: '1.0', notificationType: type, purchaseToken: token }
  expect((await world.ask({ ...common, subscriptionNotification })).status).toBe(200)
  await drain(world)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test('a refund to be reviewed is recorded without effect', async () => {
  await using world = await createPlayWorld()
  const { api } = world
  const pendingRefundReviewNotification = { version: '1.0', pendingRefundToken: 'x', orderId: 'y' }
  expect((await world.ask({ ...common, pendingRefundReviewNotification })).status).toBe(200)
  await drain(world)
  expect(api.purchaseRequests).toEqual([])
  expect(await listEvents(world)).toMatchObject([
    { type: 'PLAY_REFUND_REVIEW', outcome: 'ignored', error: null },
  ])
})

test('the time of a notification may be a number or text', async () => {
  await using world = await createPlayWorld()
  const { app } = world
  const times = [1_790_000_000_000, '1790000000000']
  for (const eventTimeMillis of times) {
    const notification = { ...common, eventTimeMillis, testNotification: {} }
    await world.ask(notification, { messageId: `m-${typeof eventTimeMillis}` })
    const shown = await app.services.eventSearch.show(`m-${typeof eventTimeMillis}`)
    expect(shown?.eventAt).toEqual(new Date(1_790_000_000_000))
  }
})

test('a push that is too large is refused', async () => {
  await using world = await createPlayWorld()
  const large = await world.ask({}, { data: 'A'.repeat(256 * 1024) })
  expect(large.status).toBe(413)
})

onSqlite('it limits the size of the database file')(
  'while the database is full a push gets 503 and leaves nothing behind',
  async () => {
    await using world = await createPlayWorld()
    const { app, api, store, userId } = world
    app.expectErrors()
    const { notification } = store.buy({ userId })
    const makeRoom = fillDatabase(app)
    const full = await world.ask(notification ?? {}, { data: dataOf(notification) })
    expect([full.status, full.headers.get('retry-after')]).toEqual([503, '60'])
    makeRoom()
    await drain(world)
    expect([await app.services.eventSearch.countStored(), api.purchaseRequests]).toEqual([
      { events: 0, failed: 0 },
      [],
    ])
    await report(world, notification)
    expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
  },
)

/** A notification with a field that Google might add; it fills more than a page. */
function dataOf(notification: object | null): string {
  return Buffer.from(JSON.stringify({ ...notification, note: 'x'.repeat(50_000) })).toString(
    'base64',
  )
}

test('accepts plain pushes when apps must seal their requests', async () => {
  const clock = createClock()
  await using api = servePlayApi(createPlayStore(clock), () => clock.now)
  await using app = await createTestApp({ ...api.environment, PAYLOAD_ENCRYPTION: 'required' })
  const push = api.pushOf({ testNotification: { version: '1.0' } })
  expect((await app.ask('POST', PLAY_PATH, push)).status).toBe(200)
})
