import { expect, test } from 'bun:test'
import { findHashKind } from '../../../../src/lib/passwords/imported-password-hashes.ts'
import { createTestApp, PASSWORD, type TestApp } from '../../../support/app.ts'
import { FOREIGN_HASHES } from '../../../support/foreign-hashes.ts'
import { createImports, logIn } from './support.ts'

const BCRYPT = hashOf('bcrypt $2b$')
const PBKDF2 = hashOf('PBKDF2 sha256, phc')

test('a failed sign-in verifies the same kinds of hashes for every address', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  await app.register('own@example.com')
  const before = await verifiedKinds(app, 'own@example.com')
  expect([before, await verifiedKinds(app, 'unknown@example.com')]).toEqual([['own'], ['own']])
  await imports.run([
    { email: 'bcrypt@example.com', passwordHash: BCRYPT },
    { email: 'pbkdf2@example.com', passwordHash: PBKDF2 },
    { email: 'none@example.com' },
  ])
  for (const name of ['unknown', 'own', 'bcrypt', 'pbkdf2', 'none']) {
    expect(await verifiedKinds(app, `${name}@example.com`)).toEqual([
      '$2b$04$',
      '$pbkdf2-sha256$i=2600$',
      'own',
    ])
  }
  await logIn(app, 'bcrypt@example.com', PASSWORD)
  expect(await verifiedKinds(app, 'bcrypt@example.com')).toHaveLength(3)
  await app.restart()
  expect(await verifiedKinds(app, 'unknown@example.com')).toHaveLength(3)
})

test('imported users have the same limit on wrong passwords', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  await imports.run([{ email: 'ann@example.com', passwordHash: BCRYPT }])
  for (let tries = 0; tries < 5; tries++) {
    expect((await logIn(app, 'ann@example.com', 'wrong password')).status).toBe(401)
  }
  expect((await logIn(app, 'ann@example.com', PASSWORD)).status).toBe(429)
})

test('imported hashes share the queue of all passwords', async () => {
  await using app = await createTestApp({}, { passwordQueueLimit: 2 })
  await using imports = await createImports(app)
  const slow = `$2b$08$${BCRYPT.slice(7)}`
  await imports.run(
    Array.from({ length: 8 }, (_, at) => ({ email: `${at}@example.com`, passwordHash: slow })),
  )
  const replies = await Promise.all(
    Array.from({ length: 8 }, (_, at) => logIn(app, `${at}@example.com`, PASSWORD)),
  )
  expect(replies.map(({ status }) => status)).toContain(503)
})

test('refuses hashes that would make sign-ins slow, alone or together', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const bcrypt = (cost: number) => `$2b$${cost}$${BCRYPT.slice(7)}`
  const hashes = [
    bcrypt(15),
    '$pbkdf2-sha256$i=99999999$AAECAwQFBgc$AAAAAAAAAAAAAAAAAAAAAA',
    `$argon2id$v=19$m=4194304,t=1,p=1$c29tZXNhbHRzb21l$${'A'.repeat(43)}`,
    // Allowed alone: 960, 480 and 240 ms.
    bcrypt(14),
    bcrypt(13),
    bcrypt(12),
    bcrypt(13),
  ]
  const users = hashes.map((passwordHash, at) => ({ email: `${at}@example.com`, passwordHash }))
  const dryRun = await imports.run(users, { dryRun: true })
  const { outcome } = await imports.run(users)
  for (const { imported, reasons } of [dryRun.outcome, outcome]) {
    expect(imported).toBe(3)
    expect(reasons['there are too many kinds of password hashes']).toBe(1)
    expect(Object.keys(reasons)).toHaveLength(4)
  }
  const refused = (await imports.readLines('users.jsonl.refused.jsonl')) ?? []
  expect(refused.map(({ line }) => line).toSorted()).toEqual([1, 2, 3, 6])
})

test('a dry run counts the kinds of hashes in all parts of a file', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const withCost = (cost: number) => ({
    email: `${cost}@example.com`,
    passwordHash: `$2b$${cost}$${BCRYPT.slice(7)}`,
  })
  const plain = Array.from({ length: 1_998 }, (_, at) => ({ email: `plain${at}@example.com` }))
  const users = [withCost(14), withCost(12), ...plain, withCost(13)]
  const { outcome } = await imports.run(users, { dryRun: true })
  expect(outcome).toMatchObject({ imported: 2_000, refused: 1 })
})

/** The kinds of the hashes that a failed sign-in verifies, sorted. */
async function verifiedKinds(app: TestApp, email: string): Promise<string[]> {
  const { passwords } = app.services
  const { serialize } = passwords
  const kinds: string[] = []
  passwords.serialize = (holders, work) =>
    serialize(holders, (hasher) =>
      work({
        ...hasher,
        verify: (password, stored) => {
          const isOwn = stored === null || stored.startsWith('$argon2')
          kinds.push(isOwn ? 'own' : findHashKind(stored))
          return hasher.verify(password, stored)
        },
      }),
    )
  expect((await logIn(app, email, 'wrong password')).status).toBe(401)
  passwords.serialize = serialize
  return kinds.toSorted()
}

function hashOf(name: string): string {
  return FOREIGN_HASHES.find(([text]) => text.startsWith(name))?.[1] ?? ''
}
