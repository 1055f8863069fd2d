import { expect, test } from 'bun:test'
import { createWorld, deliver, submit } from '../../support/app-store/world.ts'
import { drain, listEvents, report } from '../../support/play-store/reports.ts'
import { createPlayWorld } from '../../support/play-store/world.ts'

const DAY = 24 * 60 * 60 * 1000

test('a restored transaction of the same period keeps its grace period, cancellation and change', async () => {
  await using world = await createWorld()
  const { app, store, token, listSubscriptions } = world
  const bought = store.buy()
  await submit(app, token, [bought.signedTransaction()])
  app.clock.advance(60_000)
  await deliver(app, bought.changeProduct('pro_year', false))
  await deliver(app, bought.setAutoRenew(false))
  const fields = ['status', 'willRenew', 'cancelReason', 'pendingProductId', 'effectiveEndAt']
  const read = async () => {
    const [subscription] = await listSubscriptions()
    return fields.map((field) => subscription?.[field as keyof typeof subscription])
  }
  const before = await read()
  app.clock.advance(60_000)
  const other = {
    ...bought.transaction,
    transactionId: '2000009',
    signedDate: app.clock.now.getTime(),
  }
  const { results } = await submit(app, token, [store.signer.sign(other)])
  expect(results).toMatchObject([{ outcome: 'known' }])
  expect(await read()).toEqual(before)
})

test('a restored transaction in the grace period keeps access', async () => {
  await using world = await createWorld()
  const { app, store, userId, listSubscriptions } = world
  const bought = store.buy({ userId })
  await deliver(app, bought.notification)
  app.clock.now = new Date(Number(bought.transaction['expiresDate']) + 1_000)
  await deliver(app, bought.failToRenew(16))
  const other = {
    ...bought.transaction,
    transactionId: '2000009',
    signedDate: app.clock.now.getTime() + 1,
  }
  const token = (await app.ask('POST', '/api/auth/guest/v1', {})).json.response.accessToken
  await submit(app, token, [store.signer.sign(other)])
  expect(await listSubscriptions()).toMatchObject([{ status: 'in_grace_period', active: true }])
})

test('a transaction that begins a second later starts another period', async () => {
  await using world = await createWorld()
  const { app, store, token, listSubscriptions } = world
  const bought = store.buy()
  await submit(app, token, [bought.signedTransaction()])
  await deliver(app, bought.setAutoRenew(false))
  const start = Number(bought.transaction['purchaseDate']) + 1_000
  const upgrade = { ...bought.transaction, transactionId: '2000009', purchaseDate: start }
  app.clock.advance(60_000)
  await submit(app, token, [store.signer.sign({ ...upgrade, signedDate: app.clock.now.getTime() })])
  expect(await listSubscriptions()).toMatchObject([{ status: 'active', willRenew: true }])
})

test('a grace period without an end lasts until Apple’s next report, at most 28 days', async () => {
  await using world = await createWorld()
  const { app, store, userId, listSubscriptions } = world
  const bought = store.buy({ userId })
  await deliver(app, bought.notification)
  app.clock.now = new Date(Number(bought.transaction['expiresDate']) + 1_000)
  const failed = bought.failToRenew(16)
  delete bought.renewal['gracePeriodExpiresDate']
  expect(failed).toBeDefined()
  await deliver(app, bought.signNotification('DID_FAIL_TO_RENEW', 'GRACE_PERIOD'))
  expect(await listSubscriptions()).toMatchObject([{ status: 'in_grace_period', active: true }])
  app.clock.advance(27 * DAY)
  expect(await listSubscriptions()).toMatchObject([{ active: true }])
  app.clock.advance(DAY)
  expect(await listSubscriptions()).toMatchObject([{ status: 'expired', active: false }])
})

test('access ends with a grace period whose end Apple did not state', async () => {
  await using world = await createWorld()
  const { app, store, userId, listSubscriptions } = world
  const bought = store.buy({ userId })
  await deliver(app, bought.notification)
  app.clock.now = new Date(Number(bought.transaction['expiresDate']) + 1_000)
  bought.failToRenew(16)
  delete bought.renewal['gracePeriodExpiresDate']
  await deliver(app, bought.signNotification('DID_FAIL_TO_RENEW', 'GRACE_PERIOD'))
  app.clock.advance(DAY)
  await deliver(app, bought.endGrace())
  expect(await listSubscriptions()).toMatchObject([{ active: false }])
})

test('a submitted transaction that left Family Sharing ends access', async () => {
  await using world = await createWorld()
  const { app, store, token, listSubscriptions } = world
  const bought = store.buy()
  bought.transaction['inAppOwnershipType'] = 'FAMILY_SHARED'
  await submit(app, token, [bought.signedTransaction()])
  expect(await listSubscriptions()).toMatchObject([{ active: true }])
  app.clock.advance(60_000)
  bought.revoke()
  await submit(app, token, [bought.signedTransaction()])
  expect(await listSubscriptions()).toMatchObject([{ active: false }])
})

test.each([null, undefined, 'soon'])(
  'an App Store subscription with the end %p gives no access and is listed as failed',
  async (expiresDate) => {
    await using world = await createWorld()
    const { app, store, token, userId, listSubscriptions } = world
    const bought = store.buy({ userId })
    Object.assign(bought.transaction, { expiresDate })
    const { results } = await submit(app, token, [bought.signedTransaction()])
    expect(results).toMatchObject([{ outcome: 'refused', code: 'purchase_invalid' }])
    await deliver(app, bought.signNotification('SUBSCRIBED', 'INITIAL_BUY'))
    expect(await listSubscriptions()).toEqual([])
    const { events } = await app.services.eventSearch.find({ outcome: 'failed' })
    expect(events).toHaveLength(2)
    for (const { error } of events) expect(error).toContain('expiresDate')
  },
)

test.each(['', 'soon', null])(
  'a Google Play subscription with the end %p gives no access and is listed as failed',
  async (expiryTime) => {
    await using world = await createPlayWorld()
    const { store, userId } = world
    const bought = store.buy({ userId })
    const { answer } = bought
    const items = () => answer().lineItems.map((item) => ({ ...item, expiryTime }))
    Object.assign(bought, { answer: () => ({ ...answer(), lineItems: items() }) })
    await report(world, bought.notification)
    expect(await world.listSubscriptions()).toEqual([])
    const failed = (await listEvents(world)).filter(({ outcome }) => outcome === 'failed')
    expect(failed).toMatchObject([{ error: expect.stringContaining('expiryTime') }])
  },
)

test('finds the user by an upper-case account id from Google Play', async () => {
  await using world = await createPlayWorld()
  const { store, userId } = world
  await report(world, store.buy({ userId: userId.toUpperCase() }).notification)
  expect(await world.listSubscriptions()).toMatchObject([{ active: true }])
})

test('a Pub/Sub message without data is accepted and listed as failed', async () => {
  await using world = await createPlayWorld()
  const reply = await world.ask({}, { hasNoData: true })
  expect(reply.status).toBe(200)
  await drain(world)
  expect(await listEvents(world)).toMatchObject([{ type: 'PLAY_UNREADABLE', outcome: 'failed' }])
})
