import { expect, test } from 'bun:test'
import { createWorld, deliver, PATH } from '../../support/app-store/world.ts'
import { fillDatabase, onSqlite } from '../../support/databases.ts'

const DAY = 24 * 60 * 60 * 1000

test('with BILLING_SANDBOX=ignore a sandbox notification is recorded and has no effect', async () => {
  await using world = await createWorld(undefined, undefined, { BILLING_SANDBOX: 'ignore' })
  const { app, store, userId } = world
  const { notification } = store.buy({ userId, environment: 'Sandbox' })
  expect(await deliver(app, notification)).toBe('ignored')
  expect(await app.services.eventSearch.show(notification.claims.notificationUUID)).toMatchObject({
    outcome: 'ignored',
  })
  expect((await app.services.subscription.readForExport(userId, 'sandbox')).subscriptions).toEqual(
    [],
  )
})

test('a notification from more than a day ahead is ordered by its receipt and marked', async () => {
  await using world = await createWorld()
  const { app, store, userId, listSubscriptions } = world
  const at = app.clock.now
  app.clock.advance(2 * DAY)
  const { notification } = store.buy({ userId })
  app.clock.now = at
  expect(await deliver(app, notification)).toBe('ok')
  expect(await app.services.eventSearch.show(notification.claims.notificationUUID)).toMatchObject({
    clockIsOff: true,
    orderedAt: at.getTime(),
  })
  expect(await listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test('a captured old notification is folded at its own time and changes nothing newer', async () => {
  await using world = await createWorld()
  const { app, store, userId, listSubscriptions } = world
  const bought = store.buy({ userId })
  const cancelled = bought.setAutoRenew(false)
  app.clock.advance(DAY)
  await deliver(app, bought.setAutoRenew(true))
  expect(await deliver(app, cancelled)).toBe('ok')
  expect(await listSubscriptions()).toMatchObject([{ willRenew: true }])
})

onSqlite('it limits the size of the database file')(
  'while the database is full a notification gets 503 and leaves nothing behind',
  async () => {
    await using world = await createWorld()
    const { app, store, userId, listSubscriptions } = world
    app.expectErrors()
    const { body } = store.buy({ userId }).notification
    const makeRoom = fillDatabase(app)
    const full = await app.ask('POST', PATH, { json: body })
    expect([full.status, full.headers.get('retry-after')]).toEqual([503, '60'])
    makeRoom()
    expect(await app.services.eventSearch.countStored()).toEqual({ events: 0, failed: 0 })
    expect(await deliver(app, { body })).toBe('ok')
    expect(await listSubscriptions()).toMatchObject([{ status: 'active' }])
  },
)
