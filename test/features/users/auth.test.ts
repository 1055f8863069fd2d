import { expect, test } from 'bun:test'
import { createLocalJWKSet, generateKeyPair, importJWK, type JWK, jwtVerify, SignJWT } from 'jose'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { fault } from '../../support/fault.ts'

const MINUTE = 60_000

test('registers a user, who can sign in again with the address in a different case', async () => {
  await using app = await createTestApp()
  const registered = await app.ask('POST', '/api/auth/register/v1', {
    json: { email: 'Ann@Example.com', password: PASSWORD, name: 'Ann' },
    headers: { timezone: 'Europe/Berlin', 'accept-language': 'de-AT,de;q=0.8', device: 'Pixel 9' },
  })
  expect(registered.status).toBe(200)
  expect(registered.json.response).toMatchObject({
    tokenType: 'Bearer',
    expiresIn: 900,
    user: {
      loginType: 'email',
      email: 'Ann@Example.com',
      profile: { name: 'Ann', locale: 'de-AT', timezone: 'Europe/Berlin', currency: 'usd' },
      twoFactor: { enabled: false },
      onboardingCompleted: false,
    },
  })
  const again = await signIn(app, 'ann@EXAMPLE.com')
  expect(again.status).toBe(200)
  expect(again.json.response.user).toEqual(registered.json.response.user)
})

test('20 parallel registrations of one address create one account and return 19 email_taken', async () => {
  await using app = await createTestApp()
  const json = { email: 'race@example.com', password: PASSWORD }
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => app.ask('POST', '/api/auth/register/v1', { json })),
  )
  const codes = replies.map((reply) => `${reply.status} ${reply.json.code}`).toSorted()
  expect(codes).toEqual(['200 ok', ...Array.from({ length: 19 }, () => '409 email_taken')])
  const { users } = app.services.db.tables
  expect(await app.services.db.read.$count(users)).toBe(1)
})

test(`an unknown address and a wrong password get the same response ${fault(59)}`, async () => {
  await using app = await createTestApp()
  await app.register('known@example.com')
  const wrong = await signIn(app, 'known@example.com', 'not the password')
  const unknown = await signIn(app, 'unknown@example.com', 'not the password')
  expect(wrong.status).toBe(401)
  expect(wrong.json.code).toBe('invalid_credentials')
  expect({ ...unknown.json, requestId: '' }).toEqual({ ...wrong.json, requestId: '' })
})

test(`compares passwords exactly as typed, up to the last of 256 characters ${fault(65)}`, async () => {
  await using app = await createTestApp()
  const longest = `${'x'.repeat(250)} é🙂 `
  for (const [at, password] of [longest, '  lead and trail  ', 'tab\tinside'].entries()) {
    const email = `p${at}@example.com`
    const made = await app.ask('POST', '/api/auth/register/v1', { json: { email, password } })
    expect(made.status).toBe(200)
    expect((await signIn(app, email, password)).status).toBe(200)
    expect((await signIn(app, email, password.slice(0, -1))).status).toBe(401)
  }
  for (const password of ['seven c', 'x'.repeat(257), 'x'.repeat(50_000)]) {
    const json = { email: 'q@example.com', password }
    const refused = await app.ask('POST', '/api/auth/register/v1', { json })
    expect(refused.status).toBe(422)
    expect(refused.json.details[0].path).toBe('password')
    expect(refused.text).not.toContain(password)
  }
})

test(`signing out ends the current session immediately, and no other ${fault(73)}`, async () => {
  await using app = await createTestApp()
  const phone = await app.register('two@example.com')
  const tablet = (await signIn(app, 'two@example.com')).json.response
  const out = await app.ask('POST', '/api/auth/logout/v1', { token: phone.accessToken })
  expect(out.json).toEqual({ code: 'ok', message: 'Signed out.' })
  expect((await readProfile(app, phone.accessToken)).status).toBe(401)
  expect((await refresh(app, phone.refreshToken)).status).toBe(401)
  expect((await readProfile(app, tablet.accessToken)).status).toBe(200)
})

test('an access token expires after 15 minutes with token_expired', async () => {
  await using app = await createTestApp()
  const { accessToken } = await app.register()
  app.clock.advance(15 * MINUTE - 2_000)
  expect((await readProfile(app, accessToken)).status).toBe(200)
  app.clock.advance(3_000)
  const late = await readProfile(app, accessToken)
  expect(late.status).toBe(401)
  expect(late.json.code).toBe('token_expired')
  expect(late.headers.get('www-authenticate')).toBe('Bearer realm="homeport"')
})

test(`answers 401 to every forged, foreign and damaged token ${fault(74)}`, async () => {
  await using app = await createTestApp()
  const { accessToken, refreshToken, user } = await app.register()
  const [head = '', payload = '', signature = ''] = accessToken.split('.')
  const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = decode(head)
  const claims = decode(payload)
  const key = app.services.signingKeys.current().jwk
  const ours = await importJWK(key, 'ES256')
  const foreign = (await generateKeyPair('ES256')).privateKey
  const sign = (changes: object, headerChanges: object = {}, by = ours) =>
    new SignJWT({ ...claims, ...changes })
      .setProtectedHeader({ ...header, ...headerChanges })
      .sign(by)
  const publicJwk = Buffer.from(JSON.stringify({ ...key, d: undefined }))
  const hs256 = (secret: Uint8Array) =>
    new SignJWT(claims).setProtectedHeader({ ...header, alg: 'HS256' }).sign(secret)

  // The re-signed original is accepted, so each 401 below is due to its change alone.
  expect((await readProfile(app, await sign({}))).status).toBe(200)
  const forged = [
    'x',
    'a.b',
    'a.b.c',
    '..',
    `${head}.${payload}`,
    `${head}.${payload}.`,
    `.${payload}.${signature}`,
    `${head}..${signature}`,
    `${accessToken}.x`,
    ` ${accessToken}`.trimStart().slice(1),
    accessToken.slice(0, -6),
    `${head}.${payload}.${signature.slice(0, -4)}AAAA`,
    `${head}.${payload}.${Buffer.alloc(64).toString('base64url')}`,
    `${encode({ ...header, alg: 'none' })}.${payload}.`,
    `${encode({ ...header, alg: 'None' })}.${payload}.${signature}`,
    `${encode({ ...header, alg: 'HS256' })}.${payload}.${signature}`,
    `${encode({ ...header, alg: 'ES384' })}.${payload}.${signature}`,
    `${encode({ ...header, alg: 'RS256' })}.${payload}.${signature}`,
    `${encode({ ...header, alg: ['ES256'] })}.${payload}.${signature}`,
    `${encode([header])}.${payload}.${signature}`,
    `${head}.${encode([claims])}.${signature}`,
    `${head}.${encode({ ...claims, sub: 'another' })}.${signature}`,
    `${encode({ ...header, b64: false, crit: ['b64'] })}.${payload}.${signature}`,
    await hs256(publicJwk),
    await hs256(Buffer.from(key.x ?? '', 'base64url')),
    await sign({}, {}, foreign),
    await sign({}, { kid: 'unknown' }),
    await sign({}, { kid: '../../etc/passwd' }),
    await sign({}, { kid: "' OR 1=1 --" }),
    await sign({}, { kid: undefined }),
    await sign({}, { typ: 'JWT' }),
    await sign({}, { typ: undefined }),
    await sign({}, { jku: 'http://127.0.0.1/keys', kid: 'x' }),
    await sign({ aud: 'another' }),
    await sign({ aud: undefined }),
    await sign({ iss: 'another' }),
    await sign({ iss: ['homeport'] }),
    await sign({ exp: 1 }),
    await sign({ exp: undefined }),
    await sign({ exp: String(claims.exp) }),
    await sign({ nbf: claims.exp + 60 }),
    await sign({ sub: undefined }),
    await sign({ sub: '' }),
    await sign({ sub: crypto.randomUUID() }),
    await sign({ sid: undefined }),
    await sign({ sid: [claims.sid] }),
    await sign({ sid: crypto.randomUUID() }),
    await sign({ jti: undefined }),
    await sign({ jti: '7.x' }),
    await sign({ jti: '-1.x' }),
    refreshToken,
    user._id,
    encode(claims),
  ]
  expect(forged.length).toBeGreaterThanOrEqual(40)
  for (const [at, token] of forged.entries()) {
    expect([at, (await readProfile(app, token)).status]).toEqual([at, 401])
  }
  expect((await readProfile(app, accessToken)).status).toBe(200)
})

test(`a token in the URL is ignored and not logged ${fault(75)}`, async () => {
  await using app = await createTestApp()
  const { accessToken } = await app.register()
  for (const name of ['access_token', 'token', 'bearer']) {
    const refused = await app.ask('GET', `/api/user/profile/v1?${name}=${accessToken}`)
    expect(refused.status).toBe(401)
  }
  await app.logged({ route: '/api/user/profile/v1' }, 3)
  expect(app.lines.join('')).not.toContain(accessToken)
})

test('the scheme of the Authorization header is case-insensitive', async () => {
  await using app = await createTestApp()
  const { accessToken } = await app.register()
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    const headers = { authorization: `${scheme} ${accessToken}` }
    expect((await app.ask('GET', '/api/user/profile/v1', { headers })).status).toBe(200)
  }
  for (const value of [accessToken, `Basic ${accessToken}`, 'Bearer']) {
    const headers = { authorization: value }
    expect((await app.ask('GET', '/api/user/profile/v1', { headers })).status).toBe(401)
  }
})

test('another service can verify a token with the published keys alone', async () => {
  await using app = await createTestApp()
  const { json } = await app.ask('GET', '/.well-known/jwks.json')
  expect(json.keys.map(({ use, alg }: JWK) => `${use} ${alg}`)).toEqual([
    'sig ES256',
    'enc ECDH-ES',
  ])
  for (const key of json.keys) expect(key).not.toHaveProperty('d')
  const { accessToken, user } = await app.register()
  const { payload } = await jwtVerify(accessToken, createLocalJWKSet(json), { typ: 'at+jwt' })
  expect(payload).toMatchObject({ sub: user._id, aud: 'homeport' })
})

test('a registration with an invalid address and password reports both', async () => {
  await using app = await createTestApp()
  const json = { email: 'not an address', password: 'short' }
  const refused = await app.ask('POST', '/api/auth/register/v1', { json })
  expect([refused.status, refused.json.code]).toEqual([422, 'validation_failed'])
  expect(refused.json.details.map(({ path }: { path: string }) => path)).toEqual([
    'email',
    'password',
  ])
})

function signIn(app: TestApp, email: string, password = PASSWORD) {
  return app.ask('POST', '/api/auth/login/v1', { json: { email, password } })
}

function refresh(app: TestApp, refreshToken: string) {
  return app.ask('POST', '/api/auth/refresh/v1', { json: { refreshToken } })
}

function readProfile(app: TestApp, token: string) {
  return app.ask('GET', '/api/user/profile/v1', { token })
}

test('an address with a full-width @ is the same address', async () => {
  await using app = await createTestApp()
  await app.register('ann＠example.com')
  for (const email of ['ann＠example.com', 'ann@example.com'])
    expect((await signIn(app, email)).status).toBe(200)
})
