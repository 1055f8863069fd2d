import { describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { cookieIn, type OperatorBrowser, signInOperator } from '../../support/operator.ts'
import { createPasskey } from '../../support/passkey.ts'

const HEADERS = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost' }
const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

describe('a setup link', () => {
  test('works once, and for 30 minutes', async () => {
    await using app = await createTestApp()
    const { token } = await app.services.operators.accounts.add('late', 'owner')
    app.clock.advance(30 * MINUTE - SECOND)
    expect((await postLogin(app, 'link', { token })).status).toBe(200)
    app.clock.advance(SECOND)
    expect((await postLogin(app, 'link', { token })).json.code).toBe('unauthenticated')

    const ann = await signInOperator(app)
    expect((await postLogin(app, 'link', { token: ann.token })).status).toBe(401)
    expect((await postLogin(app, 'link', { token: 'never made' })).status).toBe(401)
  })

  test('requires a valid password and a valid code', async () => {
    await using app = await createTestApp()
    const { accounts } = app.services.operators
    const [{ token }, other] = [
      await accounts.add('ann', 'owner'),
      await accounts.add('bob', 'owner'),
    ]
    const { sealed } = (await postLogin(app, 'link', { token })).json.response.totp
    const foreign = (await postLogin(app, 'link', { token: other.token })).json.response.totp.sealed
    const choice = { token, password: 'something long', code: '000000', sealed }
    const short = await postLogin(app, 'set-up', { ...choice, password: 'too short' })
    expect([short.status, short.json.details[0].path]).toEqual([422, 'password'])
    expect((await postLogin(app, 'set-up', { ...choice, password: 'password123' })).status).toBe(
      422,
    )
    expect((await postLogin(app, 'set-up', choice)).status).toBe(401)
    expect((await postLogin(app, 'set-up', { ...choice, sealed: foreign })).status).toBe(400)
    expect((await postLogin(app, 'link', { token })).json.response.name).toBe('ann')
  })

  test('is replaced by a reset, which removes all credentials and sessions', async () => {
    await using app = await createTestApp()
    const ann = await signInOperator(app)
    const { accounts } = app.services.operators
    const first = (await accounts.reset('ann')).token
    expect((await ann.ask('GET', 'me')).status).toBe(401)
    app.clock.advance(MINUTE)
    expect((await signIn(app, ann, ann.codeNow())).status).toBe(401)
    expect((await signIn(app, ann, ann.recoveryCodes[0])).status).toBe(401)
    const { token } = await accounts.reset('ann')
    expect((await postLogin(app, 'link', { token: first })).status).toBe(401)
    const { name, passkey } = (await postLogin(app, 'link', { token })).json.response
    expect(name).toBe('ann')
    const made = { token, passkey: createPasskey().register(passkey), passkeyName: '' }
    const cookie = cookieIn((await postLogin(app, 'set-up', made)).headers.get('set-cookie'))
    for (const code of [ann.recoveryCodes[1], ann.codeNow()]) {
      const proof = await ann.ask('POST', 'me/proof', { json: { code }, headers: { cookie } })
      expect(proof.status).toBe(401)
    }
  })

  test('of a removed operator is invalid, and their session ends immediately', async () => {
    await using app = await createTestApp()
    const { accounts } = app.services.operators
    await signInOperator(app)
    const bob = await signInOperator(app, { name: 'bob', role: 'operator' })
    const { token } = await accounts.add('carol', 'reader')
    for (const name of ['bob', 'carol']) await accounts.remove(name)
    expect((await bob.ask('GET', 'me')).status).toBe(401)
    expect((await postLogin(app, 'link', { token })).status).toBe(401)
    expect((await signIn(app, bob, bob.codeNow())).status).toBe(401)
  })
})

test('signs in with name, password and code, and accepts each code once', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  expect((await signIn(app, ann, ann.codeNow())).status).toBe(401)
  app.clock.advance(MINUTE)
  const code = ann.codeNow().replace(/^.../, '$& ')
  const reply = await signIn(app, ann, code)
  expect([reply.status, reply.json.response]).toEqual([200, { name: 'ann' }])
  expect((await signIn(app, ann, code)).status).toBe(401)
})

test('a recovery code works once in place of a code, in any case and with separators', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  expect(new Set(ann.recoveryCodes).size).toBe(10)
  const [first = '', second = ''] = ann.recoveryCodes
  expect((await signIn(app, ann, first)).status).toBe(200)
  expect((await signIn(app, ann, first)).status).toBe(401)
  const typed = ` ${second.slice(0, 5).toUpperCase()}-${second.slice(5)}`
  expect((await signIn(app, ann, typed)).status).toBe(200)
})

test('every failed sign-in gets the same response', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  await app.services.operators.accounts.add('not set up', 'owner')
  app.clock.advance(MINUTE)
  const good = { name: 'ann', password: ann.password, code: ann.codeNow() }
  const answers = [
    { ...good, name: 'nobody' },
    { ...good, name: 'not set up' },
    { ...good, password: 'another long one' },
    { ...good, code: '000000' },
    { ...good, code: 'abcdefghjk' },
  ].map((json) => postLogin(app, 'sign-in', json))
  const bodies = (await Promise.all(answers)).map(({ status, json: { requestId, ...rest } }) => {
    return JSON.stringify([status, rest, typeof requestId])
  })
  expect([...new Set(bodies)]).toEqual([bodies[0] as string])
  expect(bodies[0]).toStartWith('[401,{"code":"invalid_credentials"')
})

test('20 wrong codes lock sign-in for that name, known or unknown, but for no other', async () => {
  await using app = await createTestApp()
  const [ann, bob] = [await signInOperator(app), await signInOperator(app, { name: 'bob' })]
  app.clock.advance(MINUTE)
  for (const name of ['ann', 'nobody']) {
    const statuses: number[] = []
    for (let at = 0; at < 20; at++) {
      statuses.push((await signIn(app, { ...ann, name }, '000000')).status)
    }
    expect(statuses).toEqual([...Array(5).fill(401), ...Array(15).fill(429)])
  }
  const locked = await signIn(app, ann, ann.codeNow())
  expect([locked.status, locked.headers.get('retry-after')]).toEqual([429, '1'])
  expect((await signIn(app, bob, bob.codeNow())).status).toBe(200)
  app.clock.advance(MINUTE)
  expect((await signIn(app, ann, ann.codeNow())).status).toBe(200)
})

test('20 wrong codes of a signed-in operator lock proofs for 15 minutes', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const statuses: number[] = []
  for (let at = 0; at < 20; at++) statuses.push((await prove(ann, '000000')).status)
  expect(statuses).toEqual([...Array(10).fill(401), ...Array(10).fill(429)])
  app.clock.advance(15 * MINUTE - SECOND)
  expect((await prove(ann, ann.codeNow())).status).toBe(429)
  app.clock.advance(SECOND)
  expect((await prove(ann, ann.codeNow())).status).toBe(200)
})

test('failed sign-ins with an operator’s name do not block that operator’s proofs', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  for (let at = 0; at < 10; at++) {
    await signIn(app, { name: 'ann', password: 'not her password' }, '000000')
    app.clock.advance(20 * SECOND)
  }
  expect((await prove(ann, ann.codeNow())).status).toBe(200)
})

test('a wrong code counts towards the limit only if the password is correct', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  for (let at = 0; at < 14; at++) {
    await signIn(app, { name: 'ann', password: 'not her password' }, '000000')
    app.clock.advance(MINUTE)
  }
  app.clock.advance(15 * MINUTE)
  const { db } = app.services
  expect((await db.read.select().from(db.tables.limits)).map(({ key }) => key)).not.toContainEqual(
    expect.stringMatching(/^operator-code:/),
  )
  expect((await signIn(app, ann, ann.codeNow())).status).toBe(200)
})

test('limits setup link guesses to 60 in 5 minutes', async () => {
  await using app = await createTestApp()
  const statuses: number[] = []
  for (let at = 0; at < 61; at++) {
    statuses.push((await postLogin(app, 'link', { token: 'guessed' })).status)
  }
  expect(statuses).toEqual([...Array(60).fill(401), 429])
  app.clock.advance(5 * MINUTE)
  expect((await postLogin(app, 'link', { token: 'guessed' })).status).toBe(401)
})

test('an idle session lasts 12 hours and is then no longer listed', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const { operatorId } = (
    await app.services.db.read.select().from(app.services.db.tables.operatorSessions)
  )[0] ?? { operatorId: '' }
  const { sessions } = app.services.operators
  app.clock.advance(12 * HOUR)
  expect((await ann.ask('GET', 'me')).status).toBe(200)
  app.clock.advance(12 * HOUR)
  expect(await sessions.list(operatorId)).toHaveLength(1)
  app.clock.advance(SECOND)
  expect(await sessions.list(operatorId)).toEqual([])
  expect((await ann.ask('GET', 'me')).status).toBe(401)
})

test('checking a session, as an open live log does, does not extend it', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  app.clock.advance(11 * HOUR)
  expect((await ann.ask('GET', 'login/state')).json.response.isSignedIn).toBe(true)
  app.clock.advance(2 * HOUR)
  expect((await ann.ask('GET', 'me')).status).toBe(401)
})

test('a session lasts at most 7 days, even in use, and is then deleted', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  for (let hours = 0; hours < 7 * 24; hours += 8) {
    app.clock.advance(8 * HOUR)
    expect((await ann.ask('GET', 'me')).status).toBe(200)
  }
  const { operators, db } = app.services
  await operators.sessions.sweep()
  expect(await db.read.$count(db.tables.operatorSessions)).toBe(1)
  app.clock.advance(SECOND)
  expect((await ann.ask('GET', 'me')).status).toBe(401)
  await operators.sessions.sweep()
  expect(await db.read.$count(db.tables.operatorSessions)).toBe(0)
})

test('an operator lists and ends their own sessions only', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const bob = await signInOperator(app, { name: 'bob' })
  app.clock.advance(MINUTE)
  const second = await signIn(app, ann, ann.codeNow(), { device: 'Library computer' })
  const cookie = cookieIn(second.headers.get('set-cookie'))
  app.clock.advance(MINUTE + SECOND)
  const { session, sessions, ...rest } = await ann.read('me')
  expect(rest).toMatchObject({ name: 'ann', role: 'owner', passkeys: [] })
  expect(sessions.map(({ device }: { device: string }) => device)).toContain('Library computer')
  const other = sessions.find(({ id }: { id: string }) => id !== session).id
  expect((await bob.ask('POST', `me/sessions/${other}/end`)).status).toBe(404)
  expect((await ann.ask('GET', 'me', { headers: { cookie } })).status).toBe(200)
  expect((await ann.ask('POST', `me/sessions/${other}/end`)).status).toBe(200)
  expect((await ann.ask('GET', 'me', { headers: { cookie } })).status).toBe(401)
  expect((await ann.read('me')).sessions).toHaveLength(1)
})

test('signing out ends only the current session', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const elsewhere = await signIn(app, ann, ann.recoveryCodes[0])
  const cookie = cookieIn(elsewhere.headers.get('set-cookie'))
  expect((await ann.ask('POST', 'me/sign-out')).status).toBe(200)
  expect((await ann.ask('GET', 'me')).status).toBe(401)
  expect((await ann.ask('GET', 'me', { headers: { cookie } })).status).toBe(200)
})

function postLogin(
  app: TestApp,
  path: string,
  json: unknown,
  headers: Record<string, string> = {},
) {
  const init = { json, headers: { ...HEADERS, ...headers } }
  return app.ask('POST', `/console/api/login/${path}`, init)
}

function signIn(
  app: TestApp,
  { name, password }: Pick<OperatorBrowser, 'name' | 'password'>,
  code = '',
  headers: Record<string, string> = {},
) {
  return postLogin(app, 'sign-in', { name, password, code }, headers)
}

function prove(browser: OperatorBrowser, code: string) {
  return browser.ask('POST', 'me/proof', { json: { code } })
}

test('refuses codes if the secret cannot be decrypted, and a reset restores access', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const { db, operators } = app.services
  await db.write(async (tx) => {
    await tx.update(db.tables.operators).set({ totpSecret: 'sealed with a key that was lost' })
  })
  app.clock.advance(60_000)
  const code = ann.codeNow()
  const json = { name: ann.name, password: ann.password, code }
  const headers = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost' }
  const refused = await app.ask('POST', '/console/api/login/sign-in', { json, headers })
  expect([refused.status, refused.json.code]).toEqual([401, 'invalid_credentials'])
  expect((await operators.accounts.reset(ann.name)).name).toBe(ann.name)
})
