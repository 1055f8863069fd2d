import { expect, test } from 'bun:test'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { isOnPostgres } from '../../support/databases.ts'
import { openStream } from '../../support/event-stream.ts'
import { expectFailure } from '../../support/failure.ts'

const PATH = '/api/user/changes/v1'
const PROFILE = '/api/user/profile/v1'

function renamed(name: string) {
  return { profile: { name } }
}

test('a stream begins with its id and reports each kind of change within a second', async () => {
  await using app = await createTestApp()
  const { accessToken: token, user } = await app.register()
  const stream = await open(app, token)
  expect(stream.status).toBe(200)
  expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(stream.headers.get('cache-control')).toBe('no-store')
  expect(stream.headers.get('x-accel-buffering')).toBe('no')
  expect((await stream.next('ready')).id).toMatch(/^[0-9a-f-]{36}$/)
  const startedAt = performance.now()
  const { changes, db, settings } = app.services
  await app.ask('PATCH', PROFILE, { token, json: renamed('Ann') })
  await stream.next('profile')
  await settings.set({ underMaintenance: true })
  await stream.next('settings')
  for (const kind of ['subscription', 'data'] as const) {
    await db.write((tx) => changes.record(tx, user._id, kind))
    await stream.next(kind)
  }
  // With several instances, a change for all users waits until no instance has the former value in its cache.
  expect(performance.now() - startedAt).toBeLessThan(isOnPostgres ? 2_500 : 1_000)
  expect(stream.names()).toEqual(['ready', 'profile', 'settings', 'subscription', 'data'])
  const ids = stream.events.map(({ id }) => id)
  expect(ids).toEqual(ids.toSorted())
  await stream.close()
})

test('another user’s changes, refused changes and changes without effect are not reported', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const { accessToken: other } = await app.register()
  const stream = await open(app, token)
  await app.ask('PATCH', PROFILE, { token: other, json: renamed('Ann') })
  await app.ask('PATCH', PROFILE, { token, json: { profile: {} } })
  await app.ask('PATCH', PROFILE, { token, json: { profile: { name: 7 } } })
  await app.services.settings.set({ underMaintenance: true })
  await stream.next('settings')
  expect(stream.names()).toEqual(['ready', 'settings'])
  await stream.close()
})

test('an app that reconnects first gets the kinds that have changed', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const first = await open(app, token)
  const { id } = await first.next('ready')
  await first.close()
  await app.ask('PATCH', PROFILE, { token, json: renamed('Ann') })
  await app.ask('PATCH', PROFILE, { token, json: renamed('Ann B.') })
  await app.services.settings.set({ underMaintenance: true })
  const next = await open(app, token, id)
  await next.next('ready')
  expect(next.events.map((event) => event.name)).toEqual(['profile', 'settings', 'ready'])
  // An event without an id leaves the app's last event id unchanged.
  expect(next.events.map((event) => event.id === id)).toEqual([true, true, false])
  await next.close()
})

test('a change is reported again if it may have become visible after the last event', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  await app.ask('PATCH', PROFILE, { token, json: renamed('Ann') })
  const { userChanges } = app.services.db.tables
  const [row] = await app.services.db.read.select().from(userChanges)
  const at = (ms: number) => {
    const hex = Number.parseInt((row?.changeId ?? '').slice(0, 13).replace('-', ''), 16) + ms
    const digits = hex.toString(16).padStart(12, '0')
    return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-000000000000`
  }
  for (const [distance, names] of [
    [-3_600_000, ['profile', 'ready']],
    [0, ['profile', 'ready']],
    [110_000, ['profile', 'ready']],
  ] as const) {
    const stream = await open(app, token, at(distance))
    await stream.next('ready')
    expect([distance, stream.names()]).toEqual([distance, [...names]])
    await stream.close()
  }
})

test.each(['nonsense', '', 'ffffffff-ffff-7fff-bfff-ffffffffffff'])(
  'after the unusable id "%s", every kind is reported',
  async (lastEventId) => {
    await using app = await createTestApp()
    const { accessToken: token } = await app.register()
    const stream = await open(app, token, lastEventId)
    await stream.next('ready')
    const all = ['subscription', 'profile', 'data', 'settings']
    // An empty header is an absent one.
    expect(stream.names()).toEqual(lastEventId === '' ? ['ready'] : [...all, 'ready'])
    await stream.close()
  },
)

test('only a signed-in user gets a stream, and HEAD gets its headers', async () => {
  await using app = await createTestApp()
  expectFailure(await app.ask('GET', PATH), 401)
  expectFailure(await app.ask('GET', PATH, { token: 'x' }), 401)
  expectFailure(await app.ask('POST', PATH), 405)
  const { accessToken: token } = await app.register()
  const head = await app.ask('HEAD', PATH, { token })
  expect([head.status, head.headers.get('content-type')]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
  ])
  expect(app.services.changes.countStreams()).toBe(0)
})

test('a sealed session cannot open its stream with a plain request', async () => {
  await using app = await createTestApp({}, { mode: 'sealed' })
  const { accessToken: token } = await app.register()
  expect((await open(app, token)).status).toBe(403)
})

test('a stream ends with its session: by sign-out here or from another device', async () => {
  await using app = await createTestApp()
  const email = 'ann@example.com'
  const phone = await app.register(email)
  const tablet = (
    await app.ask('POST', '/api/auth/login/v1', { json: { email, password: PASSWORD } })
  ).json.response
  const [first, second] = [await open(app, phone.accessToken), await open(app, tablet.accessToken)]
  await app.ask('DELETE', '/api/auth/sessions/v1?id=others', { token: tablet.accessToken })
  await first.next('signed-out')
  await first.ended()
  expect(app.services.changes.countStreams()).toBe(1)
  await app.ask('POST', '/api/auth/logout/v1', { token: tablet.accessToken })
  await second.next('signed-out')
  await second.ended()
  expect(app.services.changes.countStreams()).toBe(0)
})

test('a stream ends when the account is deleted, secured or signed out by an operator', async () => {
  await using app = await createTestApp()
  const ends: ((user: Awaited<ReturnType<TestApp['register']>>) => Promise<unknown>)[] = [
    ({ accessToken: token }) => app.ask('DELETE', '/api/user/profile/v1', { token }),
    ({ user }) => app.services.deleteAccount(user._id),
    ({ user }) => app.services.users.accountSecurity.signOut(user._id),
  ]
  for (const end of ends) {
    const user = await app.register()
    const stream = await open(app, user.accessToken)
    await end(user)
    await stream.next('signed-out')
    await stream.ended()
  }
})

test('a guest’s stream ends in a merge, and the account’s stream gets the changes', async () => {
  await using app = await createTestApp()
  const email = 'ann@example.com'
  const account = await app.register(email)
  const guest = (await app.ask('POST', '/api/auth/guest/v1')).json.response
  const { changes, db } = app.services
  await db.write((tx) => changes.record(tx, guest.user._id, 'data'))
  const streams = [
    await open(app, guest.accessToken),
    await open(app, account.accessToken),
  ] as const
  const login = { token: guest.accessToken, json: { email, password: PASSWORD } }
  expect((await app.ask('POST', '/api/auth/login/v1', login)).status).toBe(200)
  await streams[0].next('signed-out')
  await streams[1].next('data')
  await streams[1].close()
})

test('a user has at most ten streams: the oldest one is closed', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const streams = []
  for (let at = 0; at < 11; at++) streams.push(await open(app, token))
  await streams[0]?.ended()
  expect(app.services.changes.countStreams()).toBe(10)
  await app.ask('PATCH', PROFILE, { token, json: renamed('Ann') })
  await Promise.all(streams.slice(1).map((stream) => stream.next('profile')))
  app.services.changes.close()
  await Promise.all(streams.map((stream) => stream.ended()))
  expect(app.services.changes.countStreams()).toBe(0)
})

test('a stopping server ends its streams and refuses new ones', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const stream = await open(app, token)
  app.services.changes.close()
  await stream.ended()
  expect(stream.names()).toEqual(['ready'])
  const refused = await app.ask('GET', PATH, { token })
  expectFailure(refused, 503)
  expect(refused.headers.get('retry-after')).toBe('1')
})

test('the table keeps one row for each kind of change', async () => {
  await using app = await createTestApp()
  const { changes, db, settings } = app.services
  const { user } = await app.register()
  for (let at = 0; at < 5; at++) {
    await settings.set({ underMaintenance: at % 2 === 0 })
    await db.write((tx) => changes.record(tx, user._id, 'profile'))
  }
  expect(await db.read.$count(db.tables.userChanges)).toBe(2)
})

async function open(app: TestApp, token: string, lastEventId: string | null = null) {
  const stream = await openStream((request) => app.app.handle(request), token, { lastEventId })
  if (stream.status === 200) await stream.next('ready')
  return stream
}

test('a guest’s ended session is not reported to the account that takes over the guest', async () => {
  await using app = await createTestApp()
  const { user } = await app.register()
  const guest = (await app.ask('POST', '/api/auth/guest/v1')).json.response
  await app.ask('POST', '/api/auth/logout/v1', { token: guest.accessToken })
  const { changes, db } = app.services
  await db.write((tx) => changes.moveAll(tx, guest.user._id, user._id))
  expect((await changes.list(user._id)).map(({ kind }) => kind)).not.toContain('signed-out')
})
