import { expect, test } from 'bun:test'
import { createKey, serverClient } from '../../support/api-keys.ts'
import { createTestApp, PASSWORD } from '../../support/app.ts'

test('a user created without a password gets no e-mail and cannot sign in with a password', async () => {
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

test('introspection accepts the key as an OAuth client secret, and ignores other parameters', async () => {
  await using app = await createTestApp()
  const { secret } = await createKey(app, { scopes: ['users:read'] })
  const { secret: other } = await createKey(app, { scopes: ['usage:write'] })
  const { accessToken } = await app.register()
  const introspect = async (fields: Record<string, string>, authorization?: string) => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const headers = authorization === undefined ? form : { ...form, authorization }
    const body = new URLSearchParams({ token: accessToken, resource: 'a', ...fields })
    const reply = await app.ask('POST', '/api/server/tokens/v1/introspect', { body, headers })
    return [reply.status, reply.json.active]
  }
  const basic = (name: string, password: string) => `Basic ${btoa(`${name}:${password}`)}`
  const fields = { client_id: 'api', scope: 'x' }
  expect(await introspect(fields, basic('api', secret))).toEqual([200, true])
  expect(await introspect({}, basic('', secret.replace('_', '%5F')))).toEqual([200, true])
  expect(await introspect({ ...fields, client_secret: secret })).toEqual([200, true])
  expect(await introspect({ client_secret: 'x' }, `Bearer ${secret}`)).toEqual([200, true])
  for (const [wrong, header, status] of [
    [{}, undefined, 401],
    [{ client_secret: '' }, undefined, 401],
    [{ client_secret: 'hp_wrong' }, undefined, 401],
    [{ client_secret: other }, undefined, 403],
    [{}, basic('api', 'hp_wrong'), 401],
    [{}, basic(secret, ''), 401],
    [{}, basic('api', other), 403],
    [{}, 'Basic !', 401],
    [{ client_secret: secret }, 'Bearer x', 401],
  ] as const) {
    expect([header, await introspect(wrong, header)]).toEqual([header, [status, undefined]])
  }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const empty = await app.ask('POST', '/api/server/tokens/v1/introspect', { headers: form })
  expect(empty.status).toBe(401)
  const headers = { authorization: basic('api', secret) }
  const elsewhere = await app.ask('GET', '/api/server/users/v1', { headers })
  expect(elsewhere.status).toBe(401)
})
