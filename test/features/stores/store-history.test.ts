import { expect, test } from 'bun:test'
import type { AppStore } from '../../support/app-store/app-store.ts'
import { createWorldWithApi, deliver } from '../../support/app-store/world.ts'

const DAY = 24 * 60 * 60 * 1000

test('a catch-up records the notifications that never arrived, over several pages', async () => {
  await using world = await createWorldWithApi()
  const { app, store, listSubscriptions } = world
  const [first] = buyMany(store, 25, world.userId)
  if (first) await deliver(app, first.notification)
  app.clock.advance(DAY)
  expect(await catchUp(world)).toEqual({ read: 25, added: 24, refused: 0 })
  expect(await listSubscriptions()).toHaveLength(25)
  expect(await catchUp(world)).toEqual({ read: 0, added: 0, refused: 0 })
})

test('a window counts only once its last page is stored', async () => {
  await using world = await createWorldWithApi()
  const { app, store, api } = world
  buyMany(store, 25, world.userId)
  app.clock.advance(DAY)
  api.faults.push(null, { status: 500 })
  await expect(catchUp(world)).rejects.toThrow('Apple is busy')
  expect(await completeUntil(world)).toBeNull()
  expect(await catchUp(world)).toEqual({ read: 25, added: 5, refused: 0 })
  expect(await completeUntil(world)).toBe(app.clock.now.toISOString())
})

test('an expired page token begins the window again', async () => {
  await using world = await createWorldWithApi()
  const { app, store, api } = world
  buyMany(store, 25, world.userId)
  app.clock.advance(DAY)
  api.faults.push(null, { status: 400, errorCode: 4000017 })
  expect(await catchUp(world)).toEqual({ read: 45, added: 25, refused: 0 })
})

test('the next window begins two hours before the end of the last one', async () => {
  await using world = await createWorldWithApi()
  const { app, store } = world
  await catchUp(world)
  app.clock.advance(-DAY / 24)
  buyMany(store, 1, world.userId)
  app.clock.advance(DAY)
  expect(await catchUp(world)).toEqual({ read: 1, added: 1, refused: 0 })
})

test('reads everything again after the clock was 20 days ahead', async () => {
  await using world = await createWorldWithApi()
  const { app, store } = world
  app.clock.advance(20 * DAY)
  await catchUp(world)
  app.clock.advance(-20 * DAY)
  buyMany(store, 1, world.userId)
  app.clock.advance(DAY)
  expect(await catchUp(world)).toEqual({ read: 1, added: 1, refused: 0 })
})

test('--since reads an earlier window again, but leaves no gap', async () => {
  await using world = await createWorldWithApi()
  const { app, store } = world
  buyMany(store, 1, world.userId)
  app.clock.advance(DAY)
  await catchUp(world)
  app.clock.advance(10 * DAY)
  buyMany(store, 1, world.userId)
  app.clock.advance(10 * DAY)
  const later = new Date(app.clock.now.getTime() - DAY)
  expect(await catchUp(world, later)).toMatchObject({ read: 1, added: 1 })
  const earlier = new Date(app.clock.now.getTime() - 30 * DAY)
  expect(await catchUp(world, earlier)).toMatchObject({ read: 2, added: 0 })
})

test('a forged notification in the history is refused, and the others are recorded', async () => {
  await using world = await createWorldWithApi()
  const { app, store } = world
  buyMany(store, 2, world.userId)
  const [first] = store.sent
  if (first) first.signedPayload = `${first.signedPayload.slice(0, -10)}AAAAAAAAAA`
  app.clock.advance(DAY)
  expect(await catchUp(world)).toEqual({ read: 2, added: 1, refused: 1 })
})

test('a window counts as read only once APP_STORE_APPS has the app’s Apple ID', async () => {
  await using world = await createWorldWithApi({ APP_STORE_APPS: 'com.example.app:1' })
  const { app, store } = world
  app.expectErrors()
  buyMany(store, 2, world.userId)
  app.clock.advance(DAY)
  expect(await catchUp(world)).toEqual({ read: 2, added: 0, refused: 2 })
  expect(await completeUntil(world)).toBeNull()
  expect(app.lines.join('')).toContain('another Apple ID for this app')
})

test('an app whose history cannot be read does not keep others from being read', async () => {
  await using world = await createWorldWithApi({
    APP_STORE_APPS: 'com.example.new:999,com.example.app:1234567890',
  })
  buyMany(world.store, 2, world.userId)
  world.app.clock.advance(DAY)
  world.api.faults.push({ status: 404, errorCode: 4040003 })
  await expect(catchUp(world)).rejects.toThrow('Apple rejects the request')
  expect(await world.listSubscriptions()).toHaveLength(2)
})

test('the error about a refused key says what to check', async () => {
  await using world = await createWorldWithApi()
  world.api.faults.push({ status: 401 })
  await expect(catchUp(world)).rejects.toThrow(/Apple refuses the key.*has been released/)
})

type World = Awaited<ReturnType<typeof createWorldWithApi>>

function buyMany(store: AppStore, count: number, userId: string) {
  return Array.from({ length: count }, () => store.buy({ userId }))
}

async function catchUp({ app }: World, since?: Date) {
  const signal = AbortSignal.timeout(5_000)
  return app.services.stores.history?.catchUp('PRODUCTION', since ? { signal, since } : { signal })
}

async function completeUntil({ app }: World) {
  const { apps } = await app.services.stores.status.read()
  return apps.find(({ environment }) => environment === 'production')?.completeUntil ?? null
}
