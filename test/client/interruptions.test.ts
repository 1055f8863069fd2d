import { expect, spyOn, test } from 'bun:test'
import { createClient } from '../../src/client/client.ts'
import { findStore } from '../../src/client/react/store.ts'
import { createFakeServer } from '../../src/client/testing/testing.ts'
import { createTestApp, PASSWORD } from '../support/app.ts'
import { serveApp } from '../support/served.ts'
import { until, yieldToEventLoop } from '../support/until.ts'

const ANN = { email: 'ann@example.com', password: PASSWORD }
const BOB = { email: 'bob@example.com', password: PASSWORD }
const KINDS = ['subscription', 'profile', 'data', 'settings']

test('a listener that is added while the stream is interrupted is called once it is open again', async () => {
  const { server, client } = await openWorld()
  const before: string[] = []
  const stopFirst = client.onChange(({ kind }) => void before.push(kind))
  await until(() => before.length === KINDS.length, 'not every kind is reported')
  using _ = shortDelays()
  server.cutConnections()
  await yieldToEventLoop()
  const seen: string[] = []
  const stop = client.onChange(({ kind }) => void seen.push(kind))
  await until(() => seen.length >= KINDS.length, 'not every kind is reported')
  await yieldToEventLoop()
  expect(seen).toEqual(KINDS)
  stop()
  stopFirst()
})

test('changes are reported once the storage can be read again', async () => {
  const items = new Map<string, string>()
  let isLocked = false
  let refused = 0
  const storage = {
    getItem: async (key: string) => {
      if (isLocked) {
        refused++
        throw new Error('the keychain is locked')
      }
      return items.get(key) ?? null
    },
    setItem: async (key: string, value: string) => void items.set(key, value),
    removeItem: async (key: string) => void items.delete(key),
  }
  const { server, client } = await openWorld({ storage })
  using _ = shortDelays()
  isLocked = true
  const stop = client.onChange(() => {})
  await until(() => refused > 0, 'the storage is not read')
  isLocked = false
  await until(() => server.countConnections() === 1, 'the stream does not begin')
  stop()
})

test('a slow sign-out does not end the session of a later sign-in', async () => {
  const { server, client } = await openWorld()
  server.fail('logout', { delay: 200 })
  const signingOut = client.logout()
  await client.login(BOB)
  await signingOut
  expect((await client.readProfile()).email).toBe(BOB.email)
})

test('the next user does not wait for a request from the previous one', async () => {
  const { server, client } = await openWorld({ timeout: 60_000 })
  const store = findStore(client)
  const stop = store.followSession()
  server.fail('readSubscription', { code: 'timeout' })
  const subscription = store.find({ read: () => client.readKept('subscription'), kinds: [] })
  const unsubscribe = subscription.subscribe(() => {})
  const isSent = () => server.requests.some(({ operation }) => operation === 'readSubscription')
  await until(isSent, 'the subscription is not read')
  await client.logout()
  await client.login(BOB)
  const isRead = () => subscription.getSnapshot().data?.entitlements !== undefined
  await until(isRead, 'the subscription of the next user is not read')
  unsubscribe()
  stop()
})

test('the settings are read without a token while a refresh hangs', async () => {
  const { server, client } = await openWorld({ timeout: 10_000 })
  server.advance({ minutes: 20 })
  server.fail('refresh', { code: 'timeout' })
  const startedAt = performance.now()
  expect((await client.readAppSettings()).underMaintenance).toBe(false)
  expect(performance.now() - startedAt).toBeLessThan(5_000)
})

test('reads the settings of the signed-in user', async () => {
  await using app = await createTestApp()
  await using server = serveApp(app)
  const { settings } = app.services
  const { content: live } = await settings.readLive()
  const rules = { hardPaywall: [{ when: { plans: ['free'] }, value: true }] }
  await settings.publish({ ...live, rules }, { author: null, note: '' })
  const client = createClient({ baseUrl: server.url, env: 'test' })
  expect((await client.readAppSettings()).hardPaywall).toBe(false)
  await client.register(ANN)
  expect((await client.readAppSettings()).hardPaywall).toBe(true)
})

async function openWorld(options: object = {}) {
  const server = createFakeServer()
  for (const user of [ANN, BOB]) server.addUser(user)
  const { url: baseUrl, fetch, now } = server
  const client = createClient({ baseUrl, fetch, now, ...options })
  await client.login(ANN)
  return { server, client }
}

/** Shortens the client's delay before it reconnects to 90 ms. */
function shortDelays(): Disposable {
  const random = spyOn(Math, 'random').mockReturnValue(0.03 - 0.25)
  return { [Symbol.dispose]: () => random.mockRestore() }
}
