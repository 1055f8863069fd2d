import { expect, test } from 'bun:test'
import { sha256 } from '../../../src/lib/crypto/hash.ts'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { expectFailure, throwAt } from '../../support/failure.ts'
import { fault } from '../../support/fault.ts'
import { messagesFor } from '../../support/messages.ts'

const PROFILE = '/api/user/profile/v1'
const SETTINGS = '/api/user/app_settings/v1'

test(`carries out a message once, whether it is repeated in sequence or in parallel ${fault(122)}`, async () => {
  await using app = await createTestApp()
  const { post, patchName } = await messagesFor(app)
  const { accessToken } = await app.register()
  const first = patchName(accessToken, 'First')
  expect((await post('PATCH', PROFILE, first)).status).toBe(200)
  app.clock.advance(299_000)
  const again = await post('PATCH', PROFILE, first)
  expect([again.status, again.json.code]).toEqual([409, 'encryption_replay'])
  app.clock.advance(2_000)
  expect((await post('PATCH', PROFILE, first)).json.code).toBe('encryption_stale')

  const parallel = patchName(accessToken, 'Second')
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => post('PATCH', PROFILE, parallel)),
  )
  const statuses = replies.map(({ status }) => status).toSorted()
  expect(statuses).toEqual([200, ...Array(19).fill(409)])
})

test(`a message sealed again with the same id and a later time is a replay, even after a sweep ${fault(122)}`, async () => {
  await using app = await createTestApp()
  const { post, patchName } = await messagesFor(app)
  const { accessToken } = await app.register()
  const jti = 'a'.repeat(22)
  const sealed = (seconds: number) =>
    patchName(accessToken, 'x', { head: { jti, iat: iatAhead(app, seconds) } })
  expect((await post('PATCH', PROFILE, sealed(-300))).status).toBe(200)
  const again = sealed(0)
  app.clock.advance(299_000)
  await app.services.replayGuard.sweep()
  expect((await post('PATCH', PROFILE, again)).json.code).toBe('encryption_replay')
})

test(`remembers messages exactly as long as they could be replayed ${fault(122)}`, async () => {
  await using app = await createTestApp()
  const { post, patchName } = await messagesFor(app)
  const { accessToken } = await app.register()
  await post('PATCH', PROFILE, patchName(accessToken, 'x', { head: { iat: iatAhead(app, 300) } }))
  const { db, replayGuard } = app.services
  const count = () => db.read.$count(db.tables.sealedRequests)
  // Messages are kept for one more hour, because the clocks of instances may differ, and as long as a slow body may take.
  app.clock.advance(110 * 60_000)
  await replayGuard.sweep()
  expect(await count()).toBe(1)
  app.clock.advance(3 * 60_000)
  await replayGuard.sweep()
  expect(await count()).toBe(0)
})

test(`refuses a message for another path, method, query or user ${fault(123)}`, async () => {
  await using app = await createTestApp()
  const { seal, get, post, patchName } = await messagesFor(app)
  const ann = await app.register()
  const bob = await app.register()
  const message = () => patchName(ann.accessToken, 'Ann')
  const moved = [
    await post('PATCH', '/api/auth/password/v1', message()),
    await post('POST', PROFILE, message()),
    await post('DELETE', PROFILE, message()),
    await post('PATCH', `${PROFILE}?x=1`, message()),
    await post('PATCH', `${PROFILE}/`, message()),
    await post('PATCH', PROFILE, message(), { token: bob.accessToken }),
    await get(PROFILE, seal({ head: { ath: sha256(ann.accessToken) } }), {
      token: bob.accessToken,
    }),
    await get(PROFILE, seal({ head: { ath: null } }), { token: bob.accessToken }),
    await get(PROFILE, seal({ head: { ath: sha256(ann.accessToken) } })),
    await get(PROFILE, seal({ head: { ath: sha256(ann.accessToken), at: bob.accessToken } })),
    await get(`${SETTINGS}?a`, seal({ head: { htu: SETTINGS } })),
  ]
  expect(moved.map(({ status, json }) => `${status} ${json.code}`)).toEqual(
    moved.map(() => '400 encryption_invalid'),
  )
  const inHeader = seal({ head: { ath: sha256(ann.accessToken) } })
  expect((await get(PROFILE, inHeader, { token: ann.accessToken })).status).toBe(200)
})

test(`refuses another user's token sent with a message, in any form ${fault(123)}`, async () => {
  await using app = await createTestApp()
  const { seal, get, post } = await messagesFor(app)
  const { accessToken } = await app.register('thief@example.com')
  const halves = `${accessToken.slice(0, -4)} ${accessToken.slice(-4)}`
  const json = { email: 'ann@example.com', password: PASSWORD }
  const head = { htm: 'POST', htu: '/api/auth/register/v1' }
  for (const authorization of [
    `Bearer ${halves}`,
    `Bearer  ${accessToken}`,
    `Bearer\t${accessToken}`,
    `bearer ${halves}`,
    `Bearer ${accessToken}, Bearer ${accessToken}`,
    `Basic ${accessToken}`,
    'Bearer',
    '',
  ]) {
    const headers = { authorization }
    const isPlainToken = authorization === `Bearer  ${accessToken}`
    const read = await get(PROFILE, seal({}), { headers })
    expect([authorization, read.status, read.json?.code]).toEqual([
      authorization,
      400,
      'encryption_invalid',
    ])
    const cty = 'application/json'
    const message = seal({ head, header: { cty }, body: JSON.stringify(json) })
    expect((await post('POST', head.htu, message, { headers })).status).toBe(400)
    // Such a header is not accepted in a plain request either, except with two spaces.
    const plain = await app.ask('GET', PROFILE, { headers })
    expect([authorization, plain.status]).toEqual([authorization, isPlainToken ? 200 : 401])
  }
})

test(`refuses plain requests in a sealed session, whatever an attacker does to the env header ${fault(127)}`, async () => {
  await using app = await createTestApp({}, { mode: 'sealed' })
  const sealed = await app.register('ann@example.com')
  const token = sealed.accessToken
  for (const env of ['test', 'test, test', 'production, test', '', ' ', 'TEST', 'two words', 'é']) {
    const profile = await app.ask('GET', PROFILE, { token, headers: { env } })
    const refreshed = await app.ask('POST', '/api/auth/refresh/v1', {
      json: { refreshToken: sealed.refreshToken },
      headers: { env },
    })
    const expected = ['test', '', ' '].includes(env)
      ? [403, 'encryption_required']
      : [400, env === 'TEST' ? 'encryption_invalid' : 'malformed_request']
    expect([env, profile.status, profile.json.code]).toEqual([env, ...expected])
    expect([env, refreshed.status, refreshed.json.code]).toEqual([env, ...expected])
  }
  const upgrade = await app.ask('POST', '/api/auth/register/v1', {
    token,
    json: { email: 'b@example.com', password: PASSWORD },
    headers: { env: 'test' },
  })
  expect([upgrade.status, upgrade.json.code]).toEqual([403, 'encryption_required'])
  // The session is still usable, and its next tokens are bound as well.
  const json = { refreshToken: sealed.refreshToken }
  const next = (await app.ask('POST', '/api/auth/refresh/v1', { json })).json.response
  expect((await app.ask('GET', PROFILE, { token: next.accessToken })).status).toBe(200)
  const plain = await app.ask('GET', PROFILE, { token: next.accessToken, headers: { env: 'test' } })
  expect(plain.json.code).toBe('encryption_required')
  expect(claimsOf(next.accessToken)).toMatchObject({ enc: 1 })
})

test(`a plain session stays plain and may also seal requests ${fault(127)}`, async () => {
  await using app = await createTestApp({}, { mode: 'sealed' })
  const json = { email: 'ann@example.com', password: PASSWORD }
  const env = { headers: { env: 'test' } }
  const { response } = (await app.ask('POST', '/api/auth/register/v1', { json, ...env })).json
  const { accessToken: token, refreshToken } = response
  expect(claimsOf(token)).not.toHaveProperty('enc')
  expect((await app.ask('GET', PROFILE, { token })).status).toBe(200)
  expect((await app.ask('GET', PROFILE, { token, ...env })).status).toBe(200)
  const refreshed = await app.ask('POST', '/api/auth/refresh/v1', { json: { refreshToken } })
  expect(claimsOf(refreshed.json.response.accessToken)).not.toHaveProperty('enc')
})

test(`with sealing required, serves only paths without secrets in plain ${fault(127)}`, async () => {
  const required = { PAYLOAD_ENCRYPTION: 'required' }
  await using app = await createTestApp(required, { mode: 'sealed' })
  const { accessToken: token } = await app.register()
  const env = { headers: { env: 'test' } }
  for (const path of [PROFILE, SETTINGS, '/api/user/faqs/v1', '/nowhere', '/docsx', '/files']) {
    const plain = await app.ask('GET', path, { token, ...env })
    expectFailure(plain, 403)
    expect(plain.json.code).toBe('encryption_required')
  }
  for (const host of ['a', 'abc', 'a:1', 'localhost']) {
    for (const prefix of ['/files', '/docs', '/.well-known', '/health', '//', '/.']) {
      const url = `http://${host}${prefix}${SETTINGS}`
      const { status } = await app.app.handle(new Request(url))
      expect([url, status === 404 || status === 403]).toEqual([url, true])
    }
  }
  const login = { json: { email: 'x@example.com', password: PASSWORD }, ...env }
  expectFailure(await app.ask('POST', '/api/auth/login/v1', login), 403)
  for (const path of ['/health', '/ready', '/docs', '/docs/json', '/.well-known/jwks.json']) {
    expect([path, (await app.ask('GET', path, env)).status]).toEqual([path, 200])
    // Apps may send env with every request.
    const other = { headers: { env: 'production' } }
    expect([path, (await app.ask('GET', path, other)).status]).toEqual([path, 200])
  }
  expect((await app.ask('GET', '/files/unknown.png', env)).status).toBe(404)
  expect((await app.ask('POST', '/api/webhooks/billing/v1', { json: {}, ...env })).status).toBe(401)
  expect((await app.ask('GET', '/account/delete', env)).status).toBe(200)
  expect((await app.ask('GET', SETTINGS)).status).toBe(200)
})

test('sealed responses have no ETag and are not cached, and HEAD has no sealed body', async () => {
  await using app = await createTestApp()
  const { seal, get } = await messagesFor(app)
  const plain = await app.ask('GET', SETTINGS)
  const etag = plain.headers.get('etag') ?? ''
  const head = { htu: SETTINGS }
  const sealed = await get(SETTINGS, seal({ head }), { headers: { 'if-none-match': etag } })
  expect(sealed.status).toBe(200)
  expect(sealed.headers.get('content-type')).toBe('application/jose')
  expect(sealed.headers.get('cache-control')).toBe('no-store')
  expect(sealed.headers.get('etag')).toBeNull()
  const headers = { env: 'production', payload: seal({ head: { htm: 'HEAD', ...head } }) }
  const bare = await app.ask('HEAD', SETTINGS, { headers })
  expect([bare.status, bare.text]).toEqual([200, ''])
})

test('seals the errors of a route, but not those before it', async () => {
  await using app = await createTestApp()
  const { seal, get } = await messagesFor(app)
  for (const [path, status] of [
    [PROFILE, 401],
    ['/nowhere', 404],
  ] as const) {
    const reply = await get(path, seal({ head: { htu: path } }))
    expect([reply.status, reply.headers.get('content-type')]).toEqual([status, 'application/jose'])
  }
})

test(`seals the response to any thrown error ${fault(54)}`, async () => {
  await using app = await createTestApp({}, { mode: 'sealed' })
  app.expectErrors()
  const thrown = [new Error('CANARY'), 'CANARY', null, undefined]
  throwAt(app, thrown)
  for (const at of thrown.keys()) {
    const answer = await app.ask('GET', `/throws/${at}`)
    expectFailure(answer, 500)
    expect(answer.text).not.toContain('CANARY')
  }
})

test(`logs neither sealed content nor its keys and tokens ${fault(133)}`, async () => {
  await using app = await createTestApp({ LOG_LEVEL: 'debug' })
  const { seal, get, post, patchName } = await messagesFor(app)
  const { accessToken } = await app.register('canary@example.com')
  const rk = Buffer.from('canary-canary-canary-canary-cana').toString('base64url')
  const jti = Buffer.from('canary-canary-ca').toString('base64url')
  const message = patchName(accessToken, 'canary-name', { head: { rk, jti } })
  for (const _twice of [1, 2]) await post('PATCH', PROFILE, message)
  await post('PATCH', PROFILE, patchName('canary-token', 'canary', { body: '{"canary":' }))
  await get(`${PROFILE}?canary`, seal({ head: { rk } }))
  await get(PROFILE, `${message}canary`)
  await get(PROFILE, seal({ header: { kid: 'canary' } }))
  await app.ask('GET', '/health')
  await app.logged({ route: '/health' })
  const log = app.lines.join('')
  for (const secret of ['canary', rk, jti, message, message.slice(-22), accessToken.slice(-20)]) {
    expect([secret, log.includes(secret)]).toEqual([secret, false])
  }
  expect(log).toContain(`"message":"${sha256(jti)}"`)
  expect(log).toContain('"result":"encryption_replay"')
})

function iatAhead(app: TestApp, seconds: number): number {
  return Math.floor(app.clock.now.getTime() / 1000) + seconds
}

function claimsOf(token: string): object {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
}
