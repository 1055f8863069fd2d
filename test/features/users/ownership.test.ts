import { expect, test } from 'bun:test'
import { createTestApp, PASSWORD } from '../../support/app.ts'
import { PATH, uploadBody } from '../../support/attachments.ts'

const SESSIONS = '/api/auth/sessions/v1'

test('users list and end only their own sessions', async () => {
  await using app = await createTestApp()
  const { accessToken: ann } = await app.register()
  const { accessToken: bob } = await app.register()
  const sessionsOf = async (token: string) =>
    (await app.ask('GET', SESSIONS, { token })).json.response
  const [session] = await sessionsOf(bob)
  expect(await sessionsOf(ann)).toHaveLength(1)
  const ended = await app.ask('DELETE', `${SESSIONS}?id=${session._id}`, { token: ann })
  expect(ended.status).toBe(404)
  const others = await app.ask('DELETE', `${SESSIONS}?id=others`, { token: ann })
  expect(others.status).toBe(200)
  expect(await sessionsOf(bob)).toHaveLength(1)
})

test('registering with the token of a full account creates another account', async () => {
  await using app = await createTestApp()
  const ann = await app.register('ann@example.com')
  const json = { email: 'bob@example.com', password: PASSWORD }
  const { accessToken: token } = ann
  const bob = (await app.ask('POST', '/api/auth/register/v1', { json, token })).json.response
  expect(bob.user._id).not.toBe(ann.user._id)
  const profile = await app.ask('GET', '/api/user/profile/v1', { token })
  expect(profile.json.response.email).toBe('ann@example.com')
})

test('a new one-time token revokes only earlier tokens of the same user', async () => {
  await using app = await createTestApp()
  const { db, users } = app.services
  const [ann, bob] = [await app.register(), await app.register()]
  const issue = (userId: string) =>
    db.write((tx) => users.oneTimeTokens.issue(tx, 'verify-email', userId))
  const [first, second] = [await issue(ann.user._id), await issue(bob.user._id)]
  const isValid = (token: string) => users.oneTimeTokens.find(db.read, 'verify-email', token)
  expect([await isValid(first), await isValid(second)]).not.toContain(null)
  await issue(ann.user._id)
  expect(await isValid(first)).toBeNull()
})

test('users delete only their own files', async () => {
  await using app = await createTestApp()
  const { accessToken: ann } = await app.register()
  const { accessToken: bob } = await app.register()
  const stored = await uploadBody(app, bob, 'text', 'text/plain', 'supportTicket')
  const [{ key }] = stored.json.response
  expect((await app.ask('DELETE', `${PATH}?key=${key}`, { token: ann })).status).toBe(404)
  expect((await app.ask('GET', PATH, { token: bob })).json.response).toHaveLength(1)
})
