import { expect, test } from 'bun:test'
import { createCipheriv, scryptSync } from 'node:crypto'
import { eq } from 'drizzle-orm'
import { createTestApp } from '../../../support/app.ts'
import { createImports, HASH_CONFIG, logIn } from './support.ts'

const SIGNER_KEY =
  'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=='
const OTHER_KEY = Buffer.alloc(64, 7).toString('base64')
const GIVEN = { signerKey: SIGNER_KEY, saltSeparator: 'Bw==', rounds: '8', memCost: '14' }
const EMAILS = ['ann@example.com', 'bob@example.com', 'eve@example.com'] as const

/** A user as Firebase exports it: https://github.com/firebase/scrypt. */
function firebaseUser(email: string, password: string) {
  const salt = Buffer.from(`salt of ${email}`).subarray(0, 10)
  const options = { N: 2 ** 14, r: 8, p: 1, maxmem: 2 ** 26 }
  const key = scryptSync(
    password,
    Buffer.concat([salt, Buffer.from('Bw==', 'base64')]),
    32,
    options,
  )
  const cipher = createCipheriv('aes-256-ctr', key, Buffer.alloc(16))
  const passwordHash = cipher.update(Buffer.from(SIGNER_KEY, 'base64')).toString('base64')
  return { localId: email, email, passwordHash, salt: salt.toString('base64') }
}

const USERS = EMAILS.map((email) => firebaseUser(email, `password of ${email}`))

test.each([
  [{ saltSeparator: undefined }, 'base64_salt_separator (--salt-separator) is missing'],
  [{ saltSeparator: 'B' }, 'base64_salt_separator is not complete base64'],
  [{ saltSeparator: '====' }, 'base64_salt_separator is not complete base64'],
  [{ signerKey: SIGNER_KEY.slice(0, -3) }, 'base64_signer_key is not complete base64'],
  [{ signerKey: undefined }, 'base64_signer_key'],
  [{ rounds: undefined }, 'rounds'],
  [{ memCost: undefined }, 'mem_cost'],
])('asks for all four hash parameters: %p', async (missing, message) => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  await expect(imports.run(USERS, { ...GIVEN, ...missing })).rejects.toThrow(message)
})

test('notices a misspelled hash parameter', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const hashConfig = imports.path('hash-config.txt')
  const text = await Bun.file(HASH_CONFIG).text()
  await Bun.write(hashConfig, text.replace('salt_separator', 'salt_seperator'))
  await expect(imports.run(USERS, { hashConfig })).rejects.toThrow('base64_salt_separator')
})

test.each([
  ['ann@example.com', 'password of ann@example.com', {}, null],
  ['ANN@example.com', 'password of ann@example.com', {}, null],
  ['ann@example.com', 'another password', {}, 'does not match its hash'],
  ['ann@example.com', 'password of ann@example.com', { signerKey: OTHER_KEY }, 'does not match'],
  ['ann@example.com', 'password of ann@example.com', { saltSeparator: 'Bg==' }, 'does not match'],
  ['dan@example.com', 'password', {}, 'has no user dan@example.com'],
])('checks the password of %s before it writes: %s %p', async (email, password, given, problem) => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const check = imports.path('check.txt')
  await Bun.write(check, `${email}\n${password}\n`)
  const run = imports.run(USERS, { ...GIVEN, ...given, check })
  if (problem === null) expect((await run).outcome.imported).toBe(3)
  else await expect(run).rejects.toThrow(problem)
  const { db } = app.services
  expect(await db.read.$count(db.tables.users)).toBe(problem === null ? 3 : 0)
})

test('a second import replaces the password hashes that have never matched', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const [ann, bob, eve] = EMAILS
  await imports.run(USERS.slice(0, 1), GIVEN)
  expect((await logIn(app, ann, `password of ${ann}`)).status).toBe(200)
  const wrong = { ...GIVEN, signerKey: OTHER_KEY }
  expect((await imports.run(USERS, wrong)).outcome).toMatchObject({ imported: 2, replaced: 0 })
  expect((await logIn(app, bob, `password of ${bob}`)).status).toBe(401)
  const hash = await Bun.password.hash('chosen in the new app', {
    algorithm: 'argon2id',
    memoryCost: 8,
    timeCost: 1,
  })
  const { users } = app.services.db.tables
  await app.services.db.write(async (tx) => {
    await tx.update(users).set({ passwordHash: hash }).where(eq(users.email, eve))
  })
  const trial = await imports.run(USERS, { ...GIVEN, dryRun: true })
  expect(trial.outcome).toMatchObject({ present: 3, replaced: 1 })
  expect(trial.printed).toContain('1 user of these would get the password hash of this file')
  const second = await imports.run(USERS, GIVEN)
  expect(second.outcome).toMatchObject({ imported: 0, present: 3, replaced: 1, refused: 0 })
  for (const [email, password] of [
    [ann, `password of ${ann}`],
    [bob, `password of ${bob}`],
    [eve, 'chosen in the new app'],
  ] as const) {
    expect([email, (await logIn(app, email, password)).status]).toEqual([email, 200])
  }
  expect((await imports.run(USERS, wrong)).outcome).toMatchObject({ present: 3, replaced: 0 })
})
