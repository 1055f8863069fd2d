import { expect, setSystemTime, test } from 'bun:test'
import { createTestApp } from '../../../support/app.ts'
import type { PushOverrides } from '../../../support/play-store/push.ts'
import { drain } from '../../../support/play-store/reports.ts'
import { createPlayWorld, PLAY_PATH } from '../../../support/play-store/world.ts'

const HOUR = 60 * 60_000
const MAX_REFUSED = 300

test.each<[string, PushOverrides]>([
  ['an expiry in the past', { isExpired: true }],
  ['another audience', { claims: { aud: 'https://push.example.com/other' } }],
  ['another issuer', { claims: { iss: 'https://accounts.example.com' } }],
  ['another account', { claims: { email: 'other@example-project.iam.gserviceaccount.com' } }],
  ['no account', { claims: { email: undefined } }],
  ['an account that is not verified', { claims: { email_verified: false } }],
  ['an account that is verified as text', { claims: { email_verified: 'true' } }],
  ['no expiry', { claims: { exp: undefined } }],
  ['no time of issue', { claims: { iat: undefined } }],
  ['an unknown key', { kid: 'google-key-7' }],
  ['a forged signature', { hasForeignKey: true }],
  ['a symmetric signature', { alg: 'HS256' }],
  ['no signature', { alg: 'none' }],
])('refuses a token with %s and records nothing', async (_name, overrides) => {
  await using world = await createPlayWorld()
  const { app, api, store, userId } = world
  const bought = store.buy({ userId })
  const reply = await world.ask(bought.notification ?? {}, overrides)
  expect([reply.status, reply.json.code]).toEqual([401, 'unauthenticated'])
  await drain(world)
  expect((await app.services.eventSearch.countStored()).events).toBe(0)
  expect(api.purchaseRequests).toEqual([])
  expect(await world.push(bought.notification)).toBe('ignored')
})

test('refuses a push without a token', async () => {
  await using world = await createPlayWorld()
  const { app, api, store } = world
  const { json } = api.pushOf(store.buy().notification ?? {})
  for (const token of [{}, { token: 'text' }]) {
    const reply = await app.ask('POST', PLAY_PATH, { ...token, json })
    expect([reply.status, reply.json.code]).toEqual([401, 'unauthenticated'])
  }
})

test('accepts both spellings of the issuer, and clocks that differ by less than a minute', async () => {
  await using world = await createPlayWorld()
  const { app, store } = world
  const now = Math.floor(app.clock.now.getTime() / 1000)
  const accepted = [{ iss: 'accounts.google.com' }, { exp: now - 55 }, { iat: now + 55 }]
  for (const claims of accepted) {
    await world.push(store.buy().notification, { claims })
  }
  const { status } = await world.ask(store.buy().notification ?? {}, { claims: { exp: now - 65 } })
  expect(status).toBe(401)
})

test('fetches the keys once, and again for a rotated key at most every 30 seconds', async () => {
  await using world = await createPlayWorld()
  const { api, store } = world
  const start = Date.now()
  const countFetches = () => api.requests.filter((request) => request === 'GET certs').length
  try {
    await world.push(store.buy().notification)
    await world.push(store.buy().notification)
    expect(countFetches()).toBe(1)
    setSystemTime(start + 31_000)
    api.rotateKeys()
    await world.push(store.buy().notification)
    expect(countFetches()).toBe(2)
    for (let time = 0; time < 5; time++) {
      const { status } = await world.ask(store.buy().notification ?? {}, { kid: 'google-key-7' })
      expect(status).toBe(401)
    }
    expect(countFetches()).toBe(2)
    setSystemTime(start + 62_000)
    await world.ask(store.buy().notification ?? {}, { kid: 'google-key-7' })
    expect(countFetches()).toBe(3)
  } finally {
    setSystemTime()
  }
})

test('while the keys cannot be fetched, pushes get 503 without known keys and 200 with them', async () => {
  await using world = await createPlayWorld()
  const { app, api, store } = world
  app.expectErrors()
  const start = Date.now()
  try {
    for (const status of [500, 404]) {
      api.keyFaults.push({ status })
      const reply = await world.ask(store.buy().notification ?? {})
      expect([reply.status, reply.json.code]).toEqual([503, 'unavailable'])
      expect(reply.headers.get('retry-after')).toBe('60')
    }
    expect((await app.services.eventSearch.countStored()).events).toBe(0)
    await world.push(store.buy().notification)
    setSystemTime(start + 23 * HOUR)
    api.keyFaults.push({ status: 500 })
    await world.push(store.buy().notification)
    setSystemTime(start + 25 * HOUR)
    expect((await world.ask(store.buy().notification ?? {})).status).toBe(503)
  } finally {
    setSystemTime()
  }
})

test('an address whose pushes are refused 300 times has to wait', async () => {
  await using world = await createPlayWorld()
  const { app, store } = world
  const refuse = () => app.ask('POST', PLAY_PATH, { token: 'text', json: {} })
  const statuses = new Set<number>()
  for (let time = 0; time < MAX_REFUSED; time++) statuses.add((await refuse()).status)
  expect([...statuses]).toEqual([401])
  expect((await refuse()).status).toBe(429)
  app.clock.advance(10 * 60_000)
  expect(await world.push(store.buy().notification)).toBe('ignored')
})

test.each([
  ['PLAY_PUSH_ACCOUNT', ['PLAY_PUSH_ACCOUNT']],
  ['PLAY_PACKAGES', ['PLAY_PUSH_ACCOUNT', 'PLAY_PACKAGES', 'PLAY_SERVICE_ACCOUNT_FILE']],
])('returns webhook_not_configured without %s', async (name, missing) => {
  await using world = await createPlayWorld()
  const settings = Object.entries(world.api.environment)
  const others = settings.filter(([setting]) => !missing.includes(setting))
  await using app = await createTestApp(Object.fromEntries(others))
  const reply = await app.ask('POST', PLAY_PATH, world.api.pushOf({}))
  expect([reply.status, reply.json.code, reply.headers.get('retry-after')]).toEqual([
    503,
    'webhook_not_configured',
    '300',
  ])
  expect(reply.json.message).toContain(name)
})
