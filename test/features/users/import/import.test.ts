import { expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { importFile } from '../../../../src/features/users/import/import-file.ts'
import { createTestApp, PASSWORD, type TestApp } from '../../../support/app.ts'
import { FOREIGN_HASHES } from '../../../support/foreign-hashes.ts'
import { startIdentityProvider } from '../../../support/identity-provider.ts'
import { createImports, logIn } from './support.ts'

const ANN = { id: 'u1', email: 'ann@example.com', emailVerified: true, name: 'Ann' }
const [, BCRYPT = ''] = FOREIGN_HASHES[0] ?? []
const GOOGLE = { provider: 'google', subject: 'g-1', email: 'ann@example.com' }

test.each(FOREIGN_HASHES)('a user with %s signs in and is rehashed', async (_name, hash) => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const { outcome } = await imports.run([{ ...ANN, passwordHash: hash }])
  expect(outcome).toMatchObject({ imported: 1, refused: 0, withoutPassword: 0 })
  expect((await logIn(app, ANN.email, 'wrong password')).status).toBe(401)
  expect((await logIn(app, ANN.email, PASSWORD)).json.code).toBe('ok')
  expect(await storedHash(app)).toStartWith('$argon2id$v=19$m=64,t=1,p=1$')
  expect((await logIn(app, ANN.email, PASSWORD)).status).toBe(200)
  expect((await logIn(app, ANN.email, 'wrong password')).status).toBe(401)
})

test('a signed-in user changes an imported password', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  await using imports = await createImports(app)
  await imports.run([{ ...ANN, passwordHash: BCRYPT, identities: [GOOGLE] }])
  const { json } = await app.ask('POST', '/api/auth/social/v1', {
    json: {
      provider: 'google',
      idToken: await idp.mint('google', { sub: 'g-1', email: ANN.email, email_verified: true }),
    },
  })
  const token = json.response.accessToken
  const change = (currentPassword: string) =>
    app.ask('PATCH', '/api/auth/password/v1', {
      token,
      json: { currentPassword, newPassword: 'another good one' },
    })
  expect((await change('wrong password')).status).toBe(401)
  expect((await change(PASSWORD)).status).toBe(200)
  expect((await logIn(app, ANN.email, 'another good one')).status).toBe(200)
})

test('Google and Apple sign-in finds an imported user', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  await using imports = await createImports(app)
  const apple = { provider: 'apple', subject: '000123.abc' }
  await imports.run([
    { ...ANN, identities: [GOOGLE, apple] },
    { id: 'u2', identities: [{ ...apple, subject: '2' }] },
  ])
  const [first, second] = (await imports.readLines('users.jsonl.ids.jsonl')) ?? []
  for (const [provider, sub, id] of [
    ['google', 'g-1', first.id],
    ['apple', '000123.abc', first.id],
    ['apple', '2', second.id],
  ] as const) {
    const json = { provider, idToken: await idp.mint(provider, { sub }) }
    const { response } = (await app.ask('POST', '/api/auth/social/v1', { json })).json
    expect(response.user._id).toBe(id)
  }
})

test('keeps the profile and the time of creation', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const profile = { name: 'Ann', locale: 'pt-br', timezone: 'Europe/Berlin', currency: 'EUR' }
  const createdAt = '2021-02-03T04:05:06.789Z'
  await imports.run([
    { ...ANN, ...profile, createdAt, passwordHash: BCRYPT },
    { email: 'bob@example.com', passwordHash: BCRYPT },
  ])
  const { json } = await logIn(app, ANN.email, PASSWORD)
  const { user } = json.response
  expect(user).toMatchObject({ email: ANN.email, emailVerified: true, loginType: 'email' })
  expect(user.profile).toMatchObject({
    name: 'Ann',
    locale: 'pt-BR',
    timezone: 'Europe/Berlin',
    currency: 'eur',
  })
  const account = await app.services.accounts.exportAccount(user._id)
  expect([account.createdAt, account.updatedAt]).toEqual([createdAt, app.clock.now.toISOString()])
  const bob = (await logIn(app, 'bob@example.com', PASSWORD)).json.response.user
  expect([bob.emailVerified, bob.profile.locale]).toEqual([false, 'en'])
})

test('resumes an interrupted import, and imports no user twice', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const path = await imports.write(manyUsers(4_500))
  const steps = importFile([path], {}, () => {})
  const first = await steps.next()
  if (first.done) throw new Error('the import has no parts')
  await app.services.users.importer.importPart(first.value)
  await steps.return(undefined as never)
  const { outcome, printed } = await imports.run(manyUsers(4_500))
  expect(outcome).toMatchObject({ present: 2_000, imported: 2_500, refused: 0 })
  expect(printed).toContain('2000 users from an earlier import, left unchanged.')
  expect((await imports.run(manyUsers(4_500))).outcome).toMatchObject({
    present: 4_500,
    imported: 0,
  })
  expect((await app.services.users.directory.count()).users).toBe(4_500)
  expect(await imports.readLines('users.jsonl.ids.jsonl')).toHaveLength(4_500)
})

test('a user who has changed the address since the import is not imported again', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  await imports.run([{ ...ANN, passwordHash: BCRYPT, createdAt: 1_600_000_000_000 }])
  const user = await app.services.users.directory.find(ANN.email)
  const { users } = app.services.db.tables
  await app.services.db.write(async (tx) => {
    await tx.update(users).set({ email: 'new@example.com', emailKey: 'new@example.com' })
  })
  const again = await imports.run([{ ...ANN, passwordHash: BCRYPT, createdAt: 1_600_000_000_000 }])
  expect(again.outcome).toMatchObject({ present: 1, imported: 0 })
  expect((await app.services.users.directory.find('new@example.com')).id).toBe(user.id)
})

test('refuses users whose address or provider account is taken, and continues', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  await app.register('Taken@Example.com')
  await imports.run([{ ...ANN, identities: [GOOGLE] }])
  const { outcome } = await imports.run([
    { id: 'a', email: 'taken@example.COM' },
    { id: 'b', email: 'bob@example.com', identities: [GOOGLE] },
    { id: 'c', email: 'cleo@example.com' },
    { id: 'd', email: 'Cleo@example.com' },
    { id: 'c', email: 'other@example.com' },
  ])
  expect(outcome).toMatchObject({
    imported: 1,
    refused: 4,
    reasons: {
      'another account has this e-mail address': 1,
      'another account has this provider account': 1,
      'is in the file twice': 2,
    },
  })
  expect(await imports.readLines('users.jsonl.refused.jsonl')).toContainEqual({
    line: 1,
    id: 'a',
    email: 'taken@example.COM',
    reason: 'another account has this e-mail address',
  })
})

test('removes the list of refused users once none is refused', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  await imports.run([
    { ...ANN, email: 'x\u001b[31m' },
    { ...ANN, '\u001b': 1 },
  ])
  const refused = await imports.readLines('users.jsonl.refused.jsonl')
  expect(refused).toMatchObject([{ email: 'x[31m' }, { reason: 'has an unknown field: "\\u001b"' }])
  await imports.run([ANN])
  expect(await imports.readLines('users.jsonl.refused.jsonl')).toBeNull()
})

test('an unverified address from a provider is not a sign-in method', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  await app.register(ANN.email)
  const { outcome } = await imports.run([{ ...ANN, emailVerified: false, identities: [GOOGLE] }])
  expect(outcome.imported).toBe(1)
  expect((await logIn(app, ANN.email, PASSWORD)).status).toBe(200)
})

test('a dry run reports what an import would refuse, and writes nothing', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  await app.register('taken@example.com')
  const before = await app.services.users.directory.count()
  const users = [
    { ...ANN, passwordHash: BCRYPT },
    'no json',
    { email: 'taken@example.com' },
    { email: 'x' },
  ]
  const { outcome, printed, isFailure } = await imports.run(users, { dryRun: true })
  expect(outcome).toMatchObject({ dryRun: true, imported: 1, refused: 3, refusedFile: null })
  expect(printed).toContain('Dry run: nothing was written.\nWould import 1 user (jsonl).')
  expect(printed).toContain('line 3\ttaken@example.com\tanother account has this e-mail address')
  expect(printed).toContain('  1 × has an invalid e-mail address')
  expect(isFailure).toBe(false)
  expect(await app.services.users.directory.count()).toEqual(before)
  expect(
    await app.services.db.read.select().from(app.services.db.tables.importedHashKinds),
  ).toEqual([])
  expect(await imports.readLines('users.jsonl.refused.jsonl')).toBeNull()
  expect(await importsInAuditLog(app)).toEqual([])
})

test('fails only if nothing could be imported', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  expect((await imports.run([{ email: 'x' }])).isFailure).toBe(true)
  expect((await imports.run([])).isFailure).toBe(true)
  expect((await imports.run([{ email: 'x' }, ANN])).isFailure).toBe(false)
  expect((await imports.run([ANN])).isFailure).toBe(false)
  await expect(imports.run([ANN], { format: 'csv' })).rejects.toThrow('--format takes')
})

test('sends no e-mail, neither during the import nor at the first sign-in', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  await imports.run([{ ...ANN, emailVerified: false, passwordHash: BCRYPT }])
  expect((await logIn(app, ANN.email, PASSWORD)).status).toBe(200)
  await app.services.outbox.flush()
  expect(await readdir(join(app.dataDir, 'outbox')).catch(() => [])).toEqual([])
})

test('records each part in the audit log, with counts only', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  await imports.run([{ ...ANN, passwordHash: BCRYPT }])
  expect(await importsInAuditLog(app)).toEqual([{ imported: 1 }])
  await imports.run([{ ...ANN, passwordHash: BCRYPT }])
  expect(await importsInAuditLog(app)).toHaveLength(1)
})

test('neither reports nor logs contain password hashes', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const hash = `$2b$15$${'a'.repeat(53)}`
  const { outcome, printed } = await imports.run([
    { ...ANN, passwordHash: hash },
    `{"email":"b@example.com","passwordHash":"${hash}"`,
    { email: 'c@example.com', passwordHash: BCRYPT },
  ])
  const refused = await imports.readLines('users.jsonl.refused.jsonl')
  const texts = [JSON.stringify([outcome, refused]), printed, ...app.lines].join()
  expect(texts).toContain('(2b$15)')
  expect(texts).not.toContain('aaaaaaaa')
  expect(texts).not.toContain(BCRYPT.slice(-20))
})

function manyUsers(count: number) {
  return Array.from({ length: count }, (_, at) => ({
    id: `u${at}`,
    email: `user${at}@example.com`,
    passwordHash: BCRYPT,
  }))
}

async function storedHash(app: TestApp) {
  return (await app.services.users.directory.find(ANN.email)).passwordHash
}

async function importsInAuditLog(app: TestApp) {
  const { entries } = await app.services.operators.audit.list({})
  return entries.filter(({ action }) => action === 'users.import').map(({ after }) => after)
}

test('two devices sign in at once, even if both rehash the imported password', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  await imports.run([{ ...ANN, passwordHash: BCRYPT }])
  const both = await Promise.all([1, 2].map(() => logIn(app, ANN.email, PASSWORD)))
  expect(both.map(({ status }) => status)).toEqual([200, 200])
})

test('a sign-in that rehashes the password does not disturb a change with the same password', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  await using imports = await createImports(app)
  await imports.run([{ ...ANN, passwordHash: BCRYPT, identities: [GOOGLE] }])
  const claims = { sub: 'g-1', email: ANN.email, email_verified: true }
  const social = { provider: 'google', idToken: await idp.mint('google', claims) }
  const { json } = await app.ask('POST', '/api/auth/social/v1', { json: social })
  const { proof } = app.services.users
  const { verifyOwnPassword } = proof
  proof.verifyOwnPassword = async (...args) => {
    const recheck = await verifyOwnPassword(...args)
    expect((await logIn(app, ANN.email, PASSWORD)).status).toBe(200)
    return recheck
  }
  const reply = await app.ask('PATCH', '/api/auth/password/v1', {
    token: json.response.accessToken,
    json: { currentPassword: PASSWORD, newPassword: 'another good one' },
  })
  expect(reply.status).toBe(200)
})
