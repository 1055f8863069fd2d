import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { eq } from 'drizzle-orm'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { onSqlite } from '../../support/databases.ts'
import { signInOperator } from '../../support/operator.ts'
import { createPasskey } from '../../support/passkey.ts'

const ORIGIN = 'http://localhost'
const VISITOR = { device: 'Firefox', ip: '192.0.2.1', isLocal: false, origin: ORIGIN }

test('does not accept the challenge of a setup link as its token', async () => {
  await using app = await createTestApp()
  const { accounts, signIn } = app.services.operators
  const { token } = await accounts.add('ann', 'owner')
  const { passkey } = await signIn.startSetUp(token, VISITOR)
  await expect(signIn.startSetUp(passkey.challenge, VISITOR)).rejects.toMatchObject({
    code: 'unauthenticated',
  })
})

test('there are no operators once the last one is removed', async () => {
  await using app = await createTestApp()
  const { accounts } = app.services.operators
  await accounts.add('ann', 'owner')
  expect(await accounts.hasAny()).toBe(true)
  await accounts.remove('ann')
  expect(await accounts.hasAny()).toBe(false)
})

test('correct passwords and codes do not count towards an operator’s rate limits', async () => {
  await using app = await createTestApp()
  const { name, password, codeNow } = await signInOperator(app)
  for (let at = 0; at < 12; at++) {
    app.clock.advance(30_000)
    const proof = { name, password, code: codeNow() }
    expect(await app.services.operators.signIn.signIn(proof, VISITOR)).toMatchObject({ name })
  }
})

test('after ten wrong codes, an operator’s correct password and code are refused', async () => {
  await using app = await createTestApp()
  const { signIn } = app.services.operators
  const { name, password, codeNow } = await signInOperator(app)
  for (let at = 0; at < 10; at++) {
    app.clock.advance(80_000)
    const wrong = signIn.signIn({ name, password, code: '000000' }, VISITOR)
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_credentials' })
  }
  app.clock.advance(80_000)
  const right = signIn.signIn({ name, password, code: codeNow() }, VISITOR)
  await expect(right).rejects.toMatchObject({ code: 'rate_limited' })
})

test('after 20 wrong codes in a day, an operator’s correct code is refused until the next day', async () => {
  await using app = await createTestApp()
  const { signIn } = app.services.operators
  const { name, password, codeNow } = await signInOperator(app)
  const wrong = { name, password, code: '000000' }
  for (let at = 0; at < 20; at++) {
    app.clock.advance(16 * 60_000)
    await expect(signIn.signIn(wrong, VISITOR)).rejects.toMatchObject({
      code: 'invalid_credentials',
    })
  }
  app.clock.advance(16 * 60_000)
  const right = () => signIn.signIn({ name, password, code: codeNow() }, VISITOR)
  await expect(right()).rejects.toMatchObject({ code: 'rate_limited' })
  app.clock.advance(24 * 60 * 60_000)
  expect(await right()).toMatchObject({ name })
})

test('a passkey is not added to an operator who is reset while it is verified', async () => {
  await using app = await createTestApp()
  const { db, operators } = app.services
  const ann = await signInOperator(app)
  const { signIn, sessions, accounts, passkeys } = operators
  const session = await sessions.check(ann.cookie.split('=')[1] ?? '')
  if (!session) throw new Error('not signed in')
  const options = await signIn.startAddPasskey(session, VISITOR)
  const response = createPasskey().register(options) as unknown as RegistrationResponseJSON
  const { register } = passkeys
  passkeys.register = async (...args) => {
    const verified = await register(...args)
    await accounts.reset('ann')
    return verified
  }
  const adding = signIn.addPasskey(session, response, '', VISITOR)
  await expect(adding).rejects.toMatchObject({ code: 'unauthenticated' })
  expect(await db.read.$count(db.tables.operatorPasskeys)).toBe(0)
})

onSqlite('it locks the database file')(
  'an operator can read in the console while the database is locked',
  async () => {
    await using app = await createTestApp()
    const ann = await signInOperator(app)
    app.clock.advance(2 * 60_000)
    using otherConnection = new Database(join(app.dataDir, 'homeport.db'))
    otherConnection.run('BEGIN IMMEDIATE')
    expect((await ann.ask('GET', 'me')).status).toBe(200)
    otherConnection.run('ROLLBACK')
  },
)

test('an operator has at most 20 passkeys', async () => {
  await using app = await createTestApp()
  const { name } = await signInOperator(app)
  for (let at = 0; at < 20; at++) await addPasskey(app, name)
  await expect(addPasskey(app, name)).rejects.toMatchObject({ code: 'conflict' })
})

test('a passkey that is removed while it is being verified is refused', async () => {
  await using app = await createTestApp()
  const { name } = await signInOperator(app)
  const { passkeys } = app.services.operators
  const key = await addPasskey(app, name)
  const options = await passkeys.startSignIn(null, ORIGIN)
  const shown = key.authenticate(options) as unknown as AuthenticationResponseJSON
  const { operatorId, complete } = await passkeys.verify(shown, ORIGIN, null)
  const { db } = app.services
  await db.write((tx) => passkeys.remove(tx, operatorId, key.id))
  await expect(db.write(complete)).rejects.toMatchObject({ code: 'invalid_credentials' })
})

test('removing a passkey ends only its operator’s sessions', async () => {
  await using app = await createTestApp()
  const { db, operators } = app.services
  await signInOperator(app)
  const bob = await signInOperator(app, { name: 'bob' })
  const { operatorSessions } = db.tables
  const ann = await operators.accounts.findByName(db.read, 'ann')
  await db.write(async (tx) => {
    // Sessions created by earlier versions have no `openedWith`.
    await tx.update(operatorSessions).set({ openedWith: null })
    const ended = await operators.sessions.endOpenedWith(tx, ann?.id ?? '', 'a passkey')
    expect(ended).toBe(1)
  })
  expect((await bob.ask('GET', 'me')).status).toBe(200)
  const belongsToAnn = eq(operatorSessions.operatorId, ann?.id ?? '')
  expect(await db.read.$count(operatorSessions, belongsToAnn)).toBe(0)
})

/** Registers another passkey for an operator. */
async function addPasskey(app: TestApp, name: string) {
  const { accounts, passkeys } = app.services.operators
  const operator = await accounts.findByName(app.services.db.read, name)
  if (!operator) throw new Error(`there is no operator ${name}`)
  const key = createPasskey()
  const options = await passkeys.startRegistration(operator, ORIGIN)
  const made = key.register(options) as unknown as RegistrationResponseJSON
  const { store } = await passkeys.register(operator, made, ORIGIN, 'Phone')
  await app.services.db.write(store)
  return key
}
