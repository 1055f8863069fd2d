import { expect, test } from 'bun:test'
import { advance, drain, report } from '../../../support/play-store/reports.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'

const MINUTE = 60_000

test('requests at the same time share one access token', async () => {
  await using world = await createPlayWorld()
  const { api, store } = world
  for (let count = 0; count < 5; count++) await world.push(store.buy().notification)
  await drain(world)
  expect(api.tokensIssued).toBe(1)
})

test('an access token is renewed after four fifths of its lifetime', async () => {
  await using world = await createPlayWorld()
  const { api, store } = world
  await report(world, store.buy().notification)
  await advance(world, 47 * MINUTE)
  await report(world, store.buy().notification)
  expect(api.tokensIssued).toBe(1)
  await advance(world, 2 * MINUTE)
  await report(world, store.buy().notification)
  expect(api.tokensIssued).toBe(2)
})

test('a stale access token is renewed once for all requests', async () => {
  await using world = await createPlayWorld()
  const { app, api, store, userId } = world
  app.expectErrors()
  api.faults.push({ status: 503 })
  // The fault pauses the queue, so all purchases are due at the same time.
  for (let count = 0; count < 5; count++) await report(world, store.buy({ userId }).notification)
  api.revokeAccessTokens()
  api.delayMs = 30
  await advance(world, MINUTE)
  expect(await world.listSubscriptions()).toHaveLength(5)
  expect(api.tokensIssued).toBe(2)
})

test('a failed request for an access token is repeated later', async () => {
  await using world = await createPlayWorld()
  const { app, api, store, userId } = world
  app.expectErrors()
  api.tokenFaults.push({ status: 503 })
  await report(world, store.buy({ userId }).notification)
  expect(await world.listSubscriptions()).toEqual([])
  await advance(world, MINUTE)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
})

test('an account that the token endpoint refuses counts as refused', async () => {
  await using world = await createPlayWorld()
  const { app, api, store, userId } = world
  app.expectErrors()
  api.tokenFaults.push({ status: 400, reason: 'invalid_grant' })
  await report(world, store.buy({ userId }).notification)
  expect(app.services.stores.play?.store.isKeyRefused()).toBe(true)
  await advance(world, 10 * MINUTE)
  expect(app.services.stores.play?.store.isKeyRefused()).toBe(false)
  expect(await world.listSubscriptions()).toMatchObject([{ status: 'active' }])
})
