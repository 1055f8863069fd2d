import { expect, setSystemTime, test } from 'bun:test'
import { remoteKeys } from '../../../src/lib/crypto/remote-keys.ts'
import { createTestApp, PASSWORD } from '../../support/app.ts'
import { signInByCode } from '../../support/email-code.ts'
import { signInOperator } from '../../support/operator.ts'

const CHANGE = '/api/auth/email/v1/change'

test('changes to an address that is taken do not use up the password resets of its owner', async () => {
  await using app = await createTestApp()
  const victim = 'victim@example.com'
  await app.register(victim)
  const { accessToken: token } = await app.register('stranger@example.com')
  for (let at = 0; at < 4; at++) {
    const json = { email: victim, password: PASSWORD }
    expect((await app.ask('POST', CHANGE, { token, json })).json.code).toBe('email_taken')
  }
  const reset = await app.ask('POST', '/api/auth/password/v1/forgot', { json: { email: victim } })
  expect(reset.status).toBe(200)
})

test('used codes count towards the limits neither of others on the network nor of password resets', async () => {
  await using app = await createTestApp()
  for (let at = 0; at < 32; at++) await signInByCode(app, `user${at}@example.com`)
  const json = { email: 'user0@example.com' }
  expect((await app.ask('POST', '/api/auth/password/v1/forgot', { json })).status).toBe(200)
})

test('signing out a thief’s device voids the change of address that it requested', async () => {
  await using app = await createTestApp()
  const { users } = app.services
  const thief = await app.register('ann@example.com')
  const login = { email: 'ann@example.com', password: PASSWORD }
  const { accessToken: token } = (await app.ask('POST', '/api/auth/login/v1', { json: login })).json
    .response
  const { db } = app.services
  const userId = thief.user._id
  const pending = await db.write((tx) =>
    users.oneTimeTokens.issue(tx, 'change-email', userId, 'thief@example.com'),
  )
  const sessions = (await app.ask('GET', '/api/auth/sessions/v1', { token })).json.response
  const other = sessions.find(({ current }: { current: boolean }) => !current)
  await app.ask('DELETE', `/api/auth/sessions/v1?id=${other._id}`, { token })
  const json = { token: pending }
  expect((await app.ask('POST', '/api/auth/email/v1/verify', { json })).status).toBe(401)
})

test('an address that is verified again keeps the time of its first verification', async () => {
  await using app = await createTestApp()
  const { user } = await signInByCode(app, 'ann@example.com')
  const { accounts } = app.services.users
  const before = (await accounts.findByEmail(app.services.db.read, 'ann@example.com'))
    ?.emailVerifiedAt
  app.clock.advance(60_000)
  await app.services.db.write((tx) => accounts.setVerifiedAddress(tx, user._id, 'Ann@example.com'))
  const after = (await accounts.findByEmail(app.services.db.read, 'ann@example.com'))
    ?.emailVerifiedAt
  expect([before, after]).toEqual([expect.any(Date), before])
})

test('a sign-in on an instance whose clock is a little ahead counts as recent', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await signInByCode(app, 'ann@example.com')
  app.clock.advance(-1_000)
  const json = { email: 'new@example.com' }
  expect((await app.ask('POST', CHANGE, { token, json })).status).toBe(200)
})

test('keys are fetched again after a clock that was ahead is set back', async () => {
  let requests = 0
  using server = Bun.serve({
    port: 0,
    fetch: () => {
      requests++
      return Response.json({ keys: [] })
    },
  })
  const keys = remoteKeys(server.url.href, 600_000)
  const ask = () => Promise.resolve(keys({ alg: 'RS256', kid: 'k' }, {} as never)).catch(() => null)
  try {
    setSystemTime(Date.now() + 24 * 3_600_000)
    await ask()
    setSystemTime()
    await ask()
  } finally {
    setSystemTime()
  }
  expect(requests).toBe(2)
})

test('refuses to export users by a common name if the list would be incomplete', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  for (let at = 0; at < 51; at++) {
    const login = { email: `u${at}@example.com`, password: PASSWORD, name: `Hanna ${at}` }
    const place = { locale: 'en', timezone: 'utc', emailVerified: false }
    await app.services.users.passwordLogin.create({ ...login, ...place })
  }
  const refused = await ann.ask('GET', 'people/export.csv?q=hanna')
  expect([refused.status, refused.json.message]).toEqual([422, expect.stringContaining('name')])
})
