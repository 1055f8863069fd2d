import { afterEach, expect, test } from 'bun:test'
import { exportJWK, exportSPKI, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose'
import { checkOpenId } from '../../../src/cli/doctor/openid-check.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { CLIENT_ID, startIdentityProvider } from '../../support/identity-provider.ts'
import { startSmtp } from '../../support/smtp.ts'
import { simulateDelay } from '../../support/until.ts'

const PATH = '/api/auth/social/v1'
const ANN = { sub: 'o-1', email: 'ann@acme.test', email_verified: true, name: 'Ann' }
const OTHER = 'com.example.other'

/** A host that redirects, and counts the requests that follow the redirect. */
const stray = { requests: 0 }
const strayHost = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: (request) => {
    if (request.url.endsWith('/redirect')) return Response.redirect(STRAY_URL, 302)
    stray.requests += 1
    return new Response('{}')
  },
})
const STRAY_URL: string = `http://127.0.0.1:${strayHost.port}`

afterEach(() => {
  stray.requests = 0
})

test('signs in with the OpenID Connect provider and unlinks it', async () => {
  using idp = await startIdentityProvider()
  await using smtp = await startSmtp()
  const names = { OIDC_NAME: 'Acme', SMTP_URL: smtp.url }
  await using app = await createTestApp({ ...idp.openId, ...names }, idp)
  const first = await social(app, await idp.mint('oidc', ANN))
  expect(first.json.response.user).toMatchObject({
    loginType: 'oidc',
    email: 'ann@acme.test',
    emailVerified: true,
    profile: { name: 'Ann' },
  })
  const again = await social(app, await idp.mint('oidc', { ...ANN, email: 'b@acme.test' }))
  expect(again.json.response.user).toEqual(first.json.response.user)
  expect(idp.requestedPaths).toEqual(['/.well-known/openid-configuration', '/keys'])

  const token = again.json.response.accessToken
  const exported = await app.ask('GET', '/api/user/export/v1', { token })
  expect(exported.json.response.identities).toMatchObject([
    { provider: 'oidc', subject: `${idp.url} o-1`, email: 'ann@acme.test' },
  ])
  // The address is verified, so the user can still sign in with a code.
  const unlinked = await app.ask('DELETE', `${PATH}?provider=oidc`, { token })
  expect(unlinked.status).toBe(200)
  expect(await signInForId(app, await idp.mint('oidc', ANN))).toBe(first.json.response.user._id)
  expect((await smtp.next('ann@acme.test')).text).toContain('with Acme')
})

test('the same id from another issuer is a different user', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp(idp.openId, idp)
  const { user } = await app.register()
  const { db } = app.services
  const link = { provider: 'oidc', email: null, grant: null, createdAt: app.clock.now }
  await db.write(async (tx) => {
    const rows = ['o-1', 'https://former.example o-1'].map((subject) => ({ ...link, subject }))
    await tx.insert(db.tables.identities).values(rows.map((row) => ({ ...row, userId: user._id })))
  })
  expect(await signInForId(app, await idp.mint('oidc', ANN))).not.toBe(user._id)
})

test('reports that no OpenID Connect provider is set up', async () => {
  await using app = await createTestApp()
  const reply = await social(app, 'x')
  expect([reply.status, reply.json.details[0].path]).toEqual([422, 'provider'])
})

/** Audiences and authorized parties of a token, and whether it is accepted. */
const PARTIES: [aud: unknown, azp: unknown, status: number][] = [
  [[CLIENT_ID], undefined, 200],
  [CLIENT_ID, CLIENT_ID, 200],
  [[CLIENT_ID, OTHER], OTHER, 200],
  [[CLIENT_ID, OTHER], undefined, 401],
  [[CLIENT_ID, 'foreign'], CLIENT_ID, 401],
  [CLIENT_ID, 'foreign', 401],
  [[], undefined, 401],
  [undefined, CLIENT_ID, 401],
  [CLIENT_ID, [CLIENT_ID], 401],
]

test('a token for several clients needs an authorized party, and all must be ours', async () => {
  using idp = await startIdentityProvider()
  const ids = { OIDC_CLIENT_IDS: `${CLIENT_ID},${OTHER}` }
  await using app = await createTestApp({ ...idp.openId, ...ids }, idp)
  for (const [aud, azp, status] of PARTIES) {
    const reply = await social(app, await idp.mint('oidc', { ...ANN, aud, azp }))
    expect([aud, azp, reply.status]).toEqual([aud, azp, status])
  }
})

test('refuses tokens of other kinds, issuers spelled differently, and confused algorithms', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp(idp.openId, idp)
  const { keys } = (await (await fetch(`${idp.url}/keys`)).json()) as { keys: JWK[] }
  const [jwk] = keys
  const pem = await exportSPKI((await importJWK(jwk ?? {}, 'RS256')) as CryptoKey)
  const at = Math.floor(Date.now() / 1000)
  const claims = { ...ANN, iss: idp.url, aud: CLIENT_ID, iat: at, exp: at + 600 }
  const byPublicKey = (secret: string) =>
    new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: 'key-1' })
      .sign(new TextEncoder().encode(secret))
  const forged = [
    await idp.mint('oidc', { ...ANN, iss: `${idp.url}/` }),
    await idp.mint('oidc', { ...ANN, iss: [idp.url] }),
    await idp.mint('oidc', ANN, { header: { typ: 'at+jwt' } }),
    await idp.mint('oidc', ANN, { header: { typ: 'logout+jwt' } }),
    await byPublicKey(pem),
    await byPublicKey(JSON.stringify(jwk)),
    await byPublicKey(jwk?.n ?? ''),
  ]
  for (const [index, idToken] of forged.entries()) {
    expect([index, (await social(app, idToken)).status]).toEqual([index, 401])
  }
  idp.discovery.reply = () =>
    documentOf(idp.url, { id_token_signing_alg_values_supported: ['ES256'] })
  await using strict = await createTestApp(idp.openId, idp)
  expect((await social(strict, await idp.mint('oidc', ANN))).status).toBe(401)
  const typed = await idp.mint('oidc', ANN, { header: { typ: 'JWT' } })
  expect((await social(app, typed)).status).toBe(200)
})

/** Discovery documents that are refused. */
const REFUSED: [name: string, reply: (url: string) => Response | Promise<Response>][] = [
  ['another issuer', (url) => documentOf(url, { issuer: 'https://evil.example' })],
  ['an issuer with another trailing slash', (url) => documentOf(url, { issuer: `${url}/` })],
  ['no issuer', (url) => documentOf(url, { issuer: undefined })],
  [
    'keys at an insecure address',
    (url) => documentOf(url, { jwks_uri: `${url.replace('127.0.0.1', '0.0.0.0')}/keys` }),
  ],
  ['keys in a file', (url) => documentOf(url, { jwks_uri: 'file:///etc/hostname' })],
  ['keys behind a redirect', (url) => documentOf(url, { jwks_uri: `${STRAY_URL}/redirect` })],
  [
    'only weak algorithms',
    (url) => documentOf(url, { id_token_signing_alg_values_supported: ['none', 'HS256'] }),
  ],
  ['a redirect to another host', () => Response.redirect(STRAY_URL, 302)],
  ['an error', () => new Response('down', { status: 500 })],
  ['invalid JSON', () => new Response('<html>')],
  ['null', () => Response.json(null)],
  ['too much text', (url) => documentOf(url, { padding: 'x'.repeat(300_000) })],
  [
    'compressed text',
    async (url) =>
      new Response(Bun.gzipSync(new Uint8Array(await documentOf(url).arrayBuffer())), {
        headers: { 'content-encoding': 'gzip' },
      }),
  ],
]

test.each(REFUSED)(
  'returns 503 for a discovery document with %s, and tries again',
  async (_, reply) => {
    using idp = await startIdentityProvider()
    await using app = await createTestApp(idp.openId, idp)
    app.expectErrors()
    const idToken = await idp.mint('oidc', ANN)
    idp.discovery.reply = () => reply(idp.url)
    const refused = await social(app, idToken)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '10'])
    expect((await social(app, idToken)).status).toBe(503)
    expect(stray.requests).toBe(0)
    const requests = idp.requestedPaths.filter((path) => path.includes('well-known')).length
    expect(requests).toBe(1)
    idp.discovery.reply = null
    app.clock.advance(61 * 60_000)
    const fresh = await idp.mint('oidc', ANN, { at: app.clock.now })
    expect((await social(app, fresh)).status).toBe(200)
  },
)

test('returns 503 within seconds for an endless discovery document', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp(idp.openId, idp)
  app.expectErrors()
  const drip = () =>
    new ReadableStream({
      async pull(controller) {
        controller.enqueue(new TextEncoder().encode(' '))
        await simulateDelay(200)
      },
    })
  idp.discovery.reply = () => new Response(drip())
  const began = Date.now()
  const idToken = await idp.mint('oidc', ANN)
  const replies = await Promise.all([social(app, idToken), social(app, idToken)])
  expect(replies.map(({ status }) => status)).toEqual([503, 503])
  expect(Date.now() - began).toBeLessThan(8_000)
  idp.discovery.reply = null
  app.clock.advance(5_000)
  expect((await social(app, idToken)).status).toBe(200)
}, 60_000)

test('reads the discovery document again after an hour, with new keys and algorithms', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp(idp.openId, idp)
  expect((await social(app, await idp.mint('oidc', ANN))).status).toBe(200)
  const { publicKey, privateKey } = await generateKeyPair('EdDSA', { extractable: true })
  using keyServer = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async () => Response.json({ keys: [{ ...(await exportJWK(publicKey)), kid: 'ed' }] }),
  })
  const url = `http://127.0.0.1:${keyServer.port}/keys`
  const algorithms = ['EdDSA', 'RS256']
  idp.discovery.document = {
    issuer: idp.url,
    jwks_uri: url,
    id_token_signing_alg_values_supported: algorithms,
  }
  app.clock.advance(61 * 60_000)
  const at = Math.floor(app.clock.now.getTime() / 1000)
  const idToken = await new SignJWT({ ...ANN, iss: idp.url, aud: CLIENT_ID, iat: at, exp: at + 60 })
    .setProtectedHeader({ alg: 'EdDSA', kid: 'ed' })
    .sign(privateKey)
  expect((await social(app, idToken)).status).toBe(200)
})

test('doctor names what is wrong with the provider', async () => {
  using idp = await startIdentityProvider()
  expect(await checkOpenId(idp.url)).toMatchObject({ state: 'ok' })
  const problems: [reply: () => Response, detail: string][] = [
    [() => documentOf(idp.url, { issuer: `${idp.url}/` }), `for the issuer "${idp.url}/"`],
    [() => Response.redirect(STRAY_URL, 302), 'answers 302'],
    [() => documentOf(idp.url, { jwks_uri: `${idp.url}/nowhere` }), 'cannot be read'],
    [() => documentOf(idp.url, { jwks_uri: 'http://127.0.0.1:1/' }), 'cannot be read'],
    [() => documentOf(idp.url, { jwks_uri: undefined }), 'has no https jwks_uri'],
  ]
  for (const [reply, detail] of problems) {
    idp.discovery.reply = reply
    const found = await checkOpenId(idp.url)
    expect([found.state, found.detail]).toEqual(['failed', expect.stringContaining(detail)])
  }
  expect(stray.requests).toBe(0)
  expect(await checkOpenId('http://127.0.0.1:1')).toMatchObject({ state: 'failed' })
})

function documentOf(url: string, changes: object = {}): Response {
  const document = { issuer: url, jwks_uri: `${url}/keys`, ...changes }
  return Response.json({ id_token_signing_alg_values_supported: ['RS256'], ...document })
}

async function signInForId(app: TestApp, idToken: string, provider = 'oidc'): Promise<string> {
  const { status, json } = await social(app, idToken, provider)
  expect(status).toBe(200)
  return json.response.user._id
}

function social(app: TestApp, idToken: string, provider = 'oidc') {
  return app.ask('POST', PATH, { json: { provider, idToken } })
}
