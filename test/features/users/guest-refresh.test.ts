import { describe, expect, test } from 'bun:test'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

describe('a guest whose app uses new tokens but does not store them', () => {
  test('keeps the session with the token that it stored before', async () => {
    await using app = await createTestApp()
    const { refreshToken } = await startGuest(app)
    const lost = await refreshAndUse(app, refreshToken)
    app.clock.advance(DAY)
    const again = await refreshAndUse(app, refreshToken)
    expect(again.refreshToken).toBe(lost.refreshToken)
    await refreshAndUse(app, again.refreshToken)
  })

  test('every other time, keeps the session', async () => {
    await using app = await createTestApp()
    let { refreshToken } = await startGuest(app)
    for (let round = 0; round < 5; round++) {
      await refreshAndUse(app, refreshToken)
      app.clock.advance(2 * MINUTE)
      refreshToken = (await refreshAndUse(app, refreshToken)).refreshToken
      app.clock.advance(20 * MINUTE)
    }
  })

  test('for more than a year, keeps the session', async () => {
    await using app = await createTestApp()
    const { refreshToken } = await startGuest(app)
    for (let month = 0; month < 14; month++) {
      await refreshAndUse(app, refreshToken)
      app.clock.advance(30 * DAY)
    }
    await app.services.users.sessions.sweep(AbortSignal.timeout(5_000))
    await refreshAndUse(app, refreshToken)
  })
})

describe('a stolen refresh token ends the session', () => {
  test('of a guest once its successor was used for a refresh', async () => {
    await using app = await createTestApp()
    const { refreshToken } = await startGuest(app)
    const second = await refreshAndUse(app, refreshToken)
    const third = await refreshAndUse(app, second.refreshToken)
    app.clock.advance(61_000)
    expect((await refresh(app, refreshToken)).status).toBe(401)
    expect((await profileOf(app, third.accessToken)).status).toBe(401)
    expect((await refresh(app, third.refreshToken)).status).toBe(401)
  })

  test('of a guest who has become an account', async () => {
    await using app = await createTestApp()
    const guest = await startGuest(app)
    const { accessToken: token } = await refreshAndUse(app, guest.refreshToken)
    const json = { email: 'ann@example.com', password: PASSWORD }
    const made = await app.ask('POST', '/api/auth/register/v1', { token, json })
    const second = await refreshAndUse(app, made.json.response.refreshToken)
    app.clock.advance(61_000)
    expect((await refresh(app, guest.refreshToken)).status).toBe(401)
    expect((await refresh(app, made.json.response.refreshToken)).status).toBe(401)
    expect((await refresh(app, second.refreshToken)).status).toBe(401)
  })
})

async function startGuest(app: TestApp) {
  return (await app.ask('POST', '/api/auth/guest/v1')).json.response
}

async function refreshAndUse(app: TestApp, refreshToken: string) {
  const { status, json } = await refresh(app, refreshToken)
  expect(status).toBe(200)
  expect((await profileOf(app, json.response.accessToken)).status).toBe(200)
  return json.response
}

function refresh(app: TestApp, refreshToken: string) {
  return app.ask('POST', '/api/auth/refresh/v1', { json: { refreshToken } })
}

function profileOf(app: TestApp, token: string) {
  return app.ask('GET', '/api/user/profile/v1', { token })
}
