import { expect, test } from 'bun:test'
import { Secret, TOTP } from 'otpauth'
import { createTestApp, type TestApp } from '../support/app.ts'
import { cookieIn, signInOperator } from '../support/operator.ts'
import { createPasskey } from '../support/passkey.ts'

const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost' }

test('only a sign-in sets the cookie', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  app.clock.advance(60_000)
  const { name, password } = ann
  const signedIn = await askLogin(app, 'sign-in', { name, password, code: ann.codeNow() })
  const shape = (text: string | null) => text?.replace(/=[\w-]{43};/, '=TOKEN;')
  expect(shape(signedIn.headers.get('set-cookie'))).toBe(shape(ann.setCookie) as string)
  expect(cookieIn(signedIn.headers.get('set-cookie'))).not.toBe(ann.cookie)
  for (const path of ['me', 'operators', 'login/state', 'audit']) {
    expect((await ann.ask('GET', path)).headers.get('set-cookie')).toBeNull()
  }
  const refused = await askLogin(app, 'sign-in', { name, password, code: '000000' })
  expect([refused.status, refused.headers.get('set-cookie')]).toEqual([401, null])
})

test('keeps secrets out of the log, the audit log and the database', async () => {
  await using app = await createTestApp({ LOG_LEVEL: 'debug' })
  const { token } = await app.services.operators.accounts.add('bob', 'operator')
  const { passkey } = (await askLogin(app, 'link', { token })).json.response
  const key = createPasskey()
  const bob = await askLogin(app, 'set-up', {
    token,
    passkey: key.register(passkey),
    passkeyName: 'Phone',
  })
  const totp = await setUpWithTotp(app)
  const ann = await signInOperator(app)
  app.clock.advance(60_000)
  const challenge = (await askLogin(app, 'passkey')).json.response
  const again = await askLogin(app, 'sign-in', { passkey: key.authenticate(challenge) })
  const wrong = { name: 'ann', password: 'a password that is wrong', code: 'wr0ngc0de1' }
  expect((await askLogin(app, 'sign-in', wrong)).status).toBe(401)
  const [recovery = ''] = ann.recoveryCodes
  expect((await ann.ask('POST', 'me/proof', { json: { code: recovery } })).status).toBe(200)
  await askLogin(app, 'sign-in', {
    name: 'ann',
    password: ann.password,
    code: ann.recoveryCodes[1],
  })
  await askLogin(app, 'link', { token: ann.token })
  await app.ask('POST', '/console/api/login/sign-in', {
    body: `{"password": "${ann.password}`,
    headers: { ...SAME_ORIGIN, 'content-type': 'application/json' },
  })
  await app.logged(/login\/sign-in/, 4)

  const sessions = [bob, again].map(({ headers }) => cookieIn(headers.get('set-cookie')))
  const secrets = [
    token,
    ann.token,
    ann.password,
    ...ann.recoveryCodes,
    ...[ann.cookie, ...sessions].map((cookie) => cookie.split('=')[1] ?? ''),
    totp.secret,
    totp.sealed,
    passkey.challenge,
    challenge.challenge,
    wrong.password,
    wrong.code,
  ]
  for (const secret of secrets) expect(secret.length).toBeGreaterThan(9)
  const log = app.lines.join('')
  expect(log.match(/login\/sign-in/g)).toHaveLength(4)
  const { tables, read } = app.services.db
  const rows = [
    tables.operators,
    tables.operatorPasskeys,
    tables.operatorSessions,
    tables.operatorTokens,
    tables.operatorRecoveryCodes,
    tables.auditEntries,
  ].map((table) => read.select().from(table))
  const stored = JSON.stringify(await Promise.all(rows))
  expect(stored).toContain('operators.sign-in')
  for (const secret of secrets) {
    expect(log).not.toContain(secret)
    expect(stored).not.toContain(secret)
  }
})

/** Returns the secrets of the authenticator app. */
async function setUpWithTotp(app: TestApp): Promise<{ secret: string; sealed: string }> {
  const { token } = await app.services.operators.accounts.add('carol', 'reader')
  const { totp } = (await askLogin(app, 'link', { token })).json.response
  const { secret, sealed } = totp
  const timestamp = app.clock.now.getTime()
  const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp })
  const choice = { token, password: 'something long', code, sealed }
  expect((await askLogin(app, 'set-up', choice)).status).toBe(200)
  return { secret, sealed }
}

function askLogin(app: TestApp, path: string, json: unknown = {}) {
  return app.ask('POST', `/console/api/login/${path}`, { json, headers: SAME_ORIGIN })
}
