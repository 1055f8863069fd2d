import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { onSqlite } from '../../support/databases.ts'
import { fault } from '../../support/fault.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

onSqlite('it reads the database file')(
  'a refresh replaces the refresh token, and only its hash is in the database',
  async () => {
    await using app = await createTestApp()
    const first = await app.register()
    const second = await refresh(app, first.refreshToken)
    expect(second.status).toBe(200)
    expect(second.json.response.refreshToken).not.toBe(first.refreshToken)
    const database = new Database(join(app.dataDir, 'homeport.db'), { readonly: true })
    const stored = JSON.stringify(database.query('SELECT * FROM refresh_tokens').all())
    database.close()
    expect(stored).not.toContain(first.refreshToken)
    expect(stored).not.toContain(second.json.response.refreshToken)
  },
)

test(`20 parallel refreshes of one token return the same successor ${fault(70)}`, async () => {
  await using app = await createTestApp()
  const { refreshToken } = await app.register()
  const replies = await Promise.all(Array.from({ length: 20 }, () => refresh(app, refreshToken)))
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
  expect(new Set(replies.map(({ json }) => json.response.refreshToken)).size).toBe(1)
})

test('limits how often a session can be refreshed', async () => {
  await using app = await createTestApp()
  let { refreshToken } = await app.register()
  for (let at = 0; at < 100; at++) {
    refreshToken = (await refresh(app, refreshToken)).json.response.refreshToken
  }
  const refused = await refresh(app, refreshToken)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '15'])
  app.clock.advance(15_000)
  const next = await refresh(app, refreshToken)
  expect(next.status).toBe(200)
  expect((await refresh(app, next.json.response.refreshToken)).status).toBe(429)
})

test(`a phone that lost the response gets the same successor after 10 minutes ${fault(71)}`, async () => {
  await using app = await createTestApp()
  const { refreshToken } = await app.register()
  const lost = await refresh(app, refreshToken)
  app.clock.advance(10 * MINUTE)
  const retried = await refresh(app, refreshToken)
  expect(retried.status).toBe(200)
  expect(retried.json.response.refreshToken).toBe(lost.json.response.refreshToken)
})

test('a used token is accepted again within 60 s of the first use of its successor', async () => {
  await using app = await createTestApp()
  const { refreshToken } = await app.register()
  const next = (await refresh(app, refreshToken)).json.response
  expect((await readProfile(app, next.accessToken)).status).toBe(200)
  app.clock.advance(59_000)
  expect((await refresh(app, refreshToken)).json.response.refreshToken).toBe(next.refreshToken)
})

test('deletes sessions that were idle for 60 days and keeps others', async () => {
  await using app = await createTestApp()
  const { users, db } = app.services
  await app.register('idle@example.com')
  app.clock.advance(2 * DAY)
  await app.register('active@example.com')
  app.clock.advance(58 * DAY)
  await users.sessions.sweep(AbortSignal.timeout(5_000))
  expect(await db.read.$count(db.tables.sessions)).toBe(1)
  app.clock.advance(2 * DAY)
  await users.sessions.sweep(AbortSignal.timeout(5_000))
  expect(await db.read.$count(db.tables.sessions)).toBe(0)
})

test(`reusing an old refresh token ends the session immediately ${fault(72)}`, async () => {
  await using app = await createTestApp()
  const { refreshToken } = await app.register()
  const next = (await refresh(app, refreshToken)).json.response
  expect((await readProfile(app, next.accessToken)).status).toBe(200)
  app.clock.advance(61_000)
  expect((await refresh(app, refreshToken)).status).toBe(401)
  expect((await readProfile(app, next.accessToken)).status).toBe(401)
  expect((await refresh(app, next.refreshToken)).status).toBe(401)
  expect(app.lines.join('')).toContain('refresh token reuse')
})

test(`refreshing with the successor also starts the 60 s window ${fault(72)}`, async () => {
  await using app = await createTestApp()
  const { refreshToken } = await app.register()
  const second = (await refresh(app, refreshToken)).json.response
  const third = (await refresh(app, second.refreshToken)).json.response
  app.clock.advance(61_000)
  expect((await refresh(app, refreshToken)).status).toBe(401)
  expect((await refresh(app, third.refreshToken)).status).toBe(401)
})

test(`a thief who replays every predecessor is caught at the second one ${fault(72)}`, async () => {
  await using app = await createTestApp()
  const first = await app.register()
  const second = (await refresh(app, first.refreshToken)).json.response
  await readProfile(app, second.accessToken)
  const stolen = await refresh(app, first.refreshToken)
  expect(stolen.json.response.refreshToken).toBe(second.refreshToken)
  const third = (await refresh(app, second.refreshToken)).json.response
  await readProfile(app, third.accessToken)
  app.clock.advance(6_000)
  expect((await refresh(app, second.refreshToken)).status).toBe(401)
  expect((await readProfile(app, third.accessToken)).status).toBe(401)
  expect((await refresh(app, third.refreshToken)).status).toBe(401)
})

test(`a thief who replays a second token within seconds gets 409, and is caught later ${fault(72)}`, async () => {
  await using app = await createTestApp()
  const first = await app.register()
  const second = (await refresh(app, first.refreshToken)).json.response
  await readProfile(app, second.accessToken)
  const stolen = (await refresh(app, first.refreshToken)).json.response
  const third = (await refresh(app, second.refreshToken)).json.response
  await readProfile(app, third.accessToken)
  for (const refused of [stolen.refreshToken, stolen.refreshToken, first.refreshToken]) {
    const { status, json } = await refresh(app, refused)
    // The first token still returns its successor, which was already used.
    const expected = refused === first.refreshToken ? second.refreshToken : undefined
    expect([status, json.response?.refreshToken]).toEqual([expected ? 200 : 409, expected])
  }
  expect((await readProfile(app, third.accessToken)).status).toBe(200)
  app.clock.advance(6_000)
  expect((await refresh(app, stolen.refreshToken)).status).toBe(401)
  expect((await refresh(app, third.refreshToken)).status).toBe(401)
  expect(app.lines.join('')).toContain('refresh token reuse')
})

test('two processes that always refresh at the same time stay signed in', async () => {
  await using app = await createTestApp()
  let { refreshToken } = await app.register()
  for (let round = 0; round < 5; round++) {
    app.clock.advance(15 * MINUTE)
    const quicker = (await refresh(app, refreshToken)).json.response
    expect((await readProfile(app, quicker.accessToken)).status).toBe(200)
    const slower = await refresh(app, refreshToken)
    if (slower.status === 409) expect(slower.json.code).toBe('conflict')
    else expect(slower.json.response.refreshToken).toBe(quicker.refreshToken)
    refreshToken = quicker.refreshToken
  }
  expect((await refresh(app, refreshToken)).status).toBe(200)
})

test('a phone that loses the response to every refresh is never signed out', async () => {
  await using app = await createTestApp()
  let { refreshToken } = await app.register()
  for (let round = 0; round < 10; round++) {
    await refresh(app, refreshToken)
    app.clock.advance(20 * MINUTE)
    const retried = await refresh(app, refreshToken)
    expect(retried.status).toBe(200)
    expect((await readProfile(app, retried.json.response.accessToken)).status).toBe(200)
    refreshToken = retried.json.response.refreshToken
  }
})

test('sessions end after 60 idle days and after 365 days in any case', async () => {
  await using app = await createTestApp()
  const idle = await app.register()
  app.clock.advance(60 * DAY)
  expect((await refresh(app, idle.refreshToken)).status).toBe(401)

  let { refreshToken } = await app.register()
  for (let days = 0; days < 350; days += 50) {
    app.clock.advance(50 * DAY)
    refreshToken = (await refresh(app, refreshToken)).json.response.refreshToken
  }
  app.clock.advance(15 * DAY)
  expect((await refresh(app, refreshToken)).status).toBe(401)
})

function refresh(app: TestApp, refreshToken: string) {
  return app.ask('POST', '/api/auth/refresh/v1', { json: { refreshToken } })
}

function readProfile(app: TestApp, token: string) {
  return app.ask('GET', '/api/user/profile/v1', { token })
}

test('a session that was opened while the clock was ahead is refreshed after the correction', async () => {
  await using app = await createTestApp()
  app.clock.advance(DAY)
  const { refreshToken } = await app.register()
  app.clock.advance(-DAY)
  expect((await refresh(app, refreshToken)).status).toBe(200)
})
