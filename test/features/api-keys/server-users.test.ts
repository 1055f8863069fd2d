import { expect, test } from 'bun:test'
import { serverClient } from '../../support/api-keys.ts'
import { createTestApp, PASSWORD } from '../../support/app.ts'

test('a created user has no session, gets no e-mail, and sets a password by a reset', async () => {
  await using app = await createTestApp()
  const ask = await serverClient(app)
  const created = await ask('POST', 'users/v1', {
    json: { email: 'ann@example.com', emailVerified: true, name: 'Ann', locale: 'pt-BR' },
  })
  expect(created.json.response).toMatchObject({
    email: 'ann@example.com',
    emailVerified: true,
    loginType: 'email',
    profile: { name: 'Ann', locale: 'pt-BR', timezone: 'utc' },
  })
  expect(await app.services.outbox.count()).toBe(0)
  const login = { email: 'ann@example.com', password: PASSWORD }
  expect((await app.ask('POST', '/api/auth/login/v1', { json: login })).status).toBe(401)
  const again = await ask('POST', 'users/v1', { json: { email: 'ANN@example.com' } })
  expect([again.status, again.json.code]).toEqual([409, 'email_taken'])
})

test('a user created with a password signs in with it', async () => {
  await using app = await createTestApp()
  const ask = await serverClient(app)
  const login = { email: 'ann@example.com', password: PASSWORD }
  expect((await ask('POST', 'users/v1', { json: login })).status).toBe(200)
  expect((await app.ask('POST', '/api/auth/login/v1', { json: login })).status).toBe(200)
})

test.each([
  [{ email: 'no address' }, 'email'],
  [{ email: 'a@example.com', password: 'short' }, 'password'],
  [{ email: 'a@example.com', locale: 'not a language' }, 'locale'],
  [{ email: 'a@example.com', timezone: 'Mars/Base' }, 'timezone'],
  [{ email: 'a@example.com', admin: true }, 'admin'],
])('refuses to create %p', async (json, path) => {
  await using app = await createTestApp()
  const answer = await (await serverClient(app))('POST', 'users/v1', { json })
  expect(answer.status).toBe(422)
  expect(answer.json.details.map((detail: { path: string }) => detail.path)).toContain(path)
})

test('lists users in pages, newest first, and finds one by address', async () => {
  await using app = await createTestApp()
  const ask = await serverClient(app)
  const ids: string[] = []
  for (const name of ['ann', 'bob', 'eve']) {
    ids.unshift((await app.register(`${name}@example.com`)).user._id)
    app.clock.advance(1_000)
  }
  const first = (await ask('GET', 'users/v1?limit=2')).json
  const second = (await ask('GET', `users/v1?limit=2&after=${first.next}`)).json
  const listed = [...first.response, ...second.response]
  expect(listed.map(({ _id }: { _id: string }) => _id)).toEqual(ids)
  expect(second).not.toHaveProperty('next')
  const found = (await ask('GET', 'users/v1?email=BOB@example.com')).json.response
  expect(found.map(({ email }: { email: string }) => email)).toEqual(['bob@example.com'])
  expect((await ask('GET', 'users/v1?email=no@example.com')).json.response).toEqual([])
})

test('changes a profile and the verified flag, and refuses an unknown user', async () => {
  await using app = await createTestApp()
  const ask = await serverClient(app)
  const { user } = await app.register()
  const json = { profile: { name: 'Zoë' }, emailVerified: true }
  const { response } = (await ask('PATCH', `users/v1/${user._id}`, { json })).json
  expect(response).toMatchObject({ emailVerified: true, profile: { name: 'Zoë', locale: 'en' } })
  const off = { emailVerified: false }
  const second = (await ask('PATCH', `users/v1/${user._id}`, { json: off })).json.response
  expect(second).toMatchObject({ emailVerified: false, profile: { name: 'Zoë' } })
  const bad = { profile: { locale: 'not a language' } }
  expect((await ask('PATCH', `users/v1/${user._id}`, { json: bad })).status).toBe(422)
  for (const [method, path] of [
    ['GET', 'users/v1/none'],
    ['PATCH', 'users/v1/none'],
    ['POST', 'users/v1/none/sign_out'],
    ['DELETE', 'users/v1/none'],
    ['GET', 'subscriptions/v1/none'],
    ['GET', 'usage/v1?userId=none'],
  ] as const) {
    const answer = await ask(method, path, method === 'PATCH' ? { json } : {})
    expect([path, answer.status]).toEqual([path, 404])
  }
})

test('introspection follows a session from sign-in to sign-out', async () => {
  await using app = await createTestApp()
  const ask = await serverClient(app)
  const { user, accessToken } = await app.register()
  const introspect = async (token: string) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const body = new URLSearchParams({ token, token_type_hint: 'access_token' })
    return (await ask('POST', 'tokens/v1/introspect', { body, headers })).json
  }
  const issuedAt = Math.floor(app.clock.now.getTime() / 1000)
  expect(await introspect(accessToken)).toEqual({
    active: true,
    sub: user._id,
    sid: expect.any(String),
    token_type: 'Bearer',
    iss: 'homeport',
    aud: 'homeport',
    iat: issuedAt,
    exp: issuedAt + 900,
  })
  expect(await introspect('no token')).toEqual({ active: false })
  const signedOut = await ask('POST', `users/v1/${user._id}/sign_out`)
  expect(signedOut.json.response).toEqual({ ended: 1 })
  expect(await introspect(accessToken)).toEqual({ active: false })
  const { accessToken: later } = await app.register('eve@example.com')
  app.clock.advance(901_000)
  expect(await introspect(later)).toEqual({ active: false })
})

test('server data is written by keys with versions, and the app reads it', async () => {
  await using app = await createTestApp()
  const ask = await serverClient(app)
  const { user, accessToken: token } = await app.register()
  const path = `users/v1/${user._id}/data`
  const first = (await ask('PUT', path, { json: { score: 1, level: 'a' } })).json.response
  const patched = await ask('PATCH', `${path}?version=${first.version}`, {
    json: { score: 2, level: null },
  })
  expect(patched.json.response.serverData).toEqual({ score: 2 })
  expect(patched.headers.get('etag')).toBe(`"${patched.json.response.version}"`)
  const stale = { 'if-match': `"${first.version}"` }
  const lost = await ask('PATCH', path, { json: { score: 3 }, headers: stale })
  expect([lost.status, lost.json.code]).toEqual([412, 'precondition_failed'])
  for (const [name, value] of [
    ['if-none-match', '*'],
    ['if-match', ''],
  ] as const) {
    for (const method of ['PUT', 'PATCH']) {
      const refused = await ask(method, path, { json: { score: 3 }, headers: { [name]: value } })
      expect([name, method, refused.status]).toEqual([name, method, 412])
    }
  }
  expect((await ask('GET', path)).json.response.serverData).toEqual({ score: 2 })
  const own = await app.ask('GET', '/api/user/data/v1', { token })
  expect(own.json.response).toMatchObject({ data: {}, serverData: { score: 2 } })
  const replaced = await app.ask('PUT', '/api/user/data/v1', { token, json: { mine: true } })
  expect(replaced.json.response).toMatchObject({ data: { mine: true }, serverData: { score: 2 } })
})
