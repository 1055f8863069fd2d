import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import * as records from '../../../../src/features/users/import/formats/records.ts'
import { splitRecords } from '../../../../src/features/users/import/formats/records.ts'
import { createTestApp, PASSWORD } from '../../../support/app.ts'
import { runCommand } from '../../../support/commands.ts'
import { startIdentityProvider } from '../../../support/identity-provider.ts'
import { createImports, HASH_CONFIG, logIn } from './support.ts'

const REASONS = {
  firebase: {
    'is disabled': 1,
    'signs in with a phone number only': 1,
    'is anonymous, or has no e-mail address': 1,
    'signs in with facebook.com only, and has no e-mail address': 1,
  },
  supabase: {
    'is banned': 1,
    'is anonymous': 1,
    'signs in with a phone number only': 1,
    'is deleted': 1,
  },
}

test('imports a Firebase export', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  await using imports = await createImports(app)
  const { outcome } = await imports.runFixture('firebase.json', { hashConfig: HASH_CONFIG })
  expect(outcome).toMatchObject({ format: 'firebase', imported: 4, withoutPassword: 0 })
  expect(outcome.reasons).toEqual(REASONS.firebase)
  const sample = await logIn(app, 'sample@example.com', 'user1password')
  expect(sample.json.response.user).toMatchObject({
    emailVerified: true,
    profile: { name: 'Sample {["User' },
  })
  const ann = await logIn(app, 'ann@example.com', PASSWORD)
  expect(ann.json.response.user.emailVerified).toBe(false)
  const [first] = (await imports.readLines('firebase.json.ids.jsonl')) ?? []
  expect(first).toEqual({ formerId: 'uid-sample', id: sample.json.response.user._id })
  const account = await app.services.accounts.exportAccount(first.id)
  expect(account.createdAt).toBe(new Date(1_600_000_000_123).toISOString())
  for (const [provider, sub] of [
    ['google', '110169484474386276334'],
    ['apple', '000123.abc.0456'],
  ] as const) {
    const json = { provider, idToken: await idp.mint(provider, { sub }) }
    const { response } = (await app.ask('POST', '/api/auth/social/v1', { json })).json
    expect([response.user.loginType, response.user._id]).toEqual([
      provider,
      expect.stringMatching(/^0174/),
    ])
  }
})

test('accepts Firebase’s hash parameters as options too', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const signerKey = /signer_key: (\S+),/.exec(await Bun.file(HASH_CONFIG).text())?.[1] ?? ''
  const options = { signerKey, saltSeparator: 'Bw==', rounds: '8', memCost: '14' }
  expect((await imports.runFixture('firebase.json', options)).outcome.imported).toBe(4)
  expect((await logIn(app, 'sample@example.com', 'user1password')).status).toBe(200)
})

test('without hash parameters, refuses Firebase users with a password', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const { outcome } = await imports.runFixture('firebase.json')
  expect(outcome.imported).toBe(2)
  expect(outcome.reasons['has a password, but --hash-config is missing']).toBe(2)
  const again = await imports.runFixture('firebase.json', { hashConfig: HASH_CONFIG })
  expect(again.outcome).toMatchObject({ imported: 2, present: 2 })
})

test.each([
  [{ rounds: '8' }, 'base64_signer_key'],
  [{ hashConfig: import.meta.path }, 'no Firebase hash parameters'],
  [{ hashConfig: '/nowhere' }, 'cannot be read'],
  [{ hashConfig: HASH_CONFIG, memCost: '15' }, 'from 1 to 14'],
  [{ hashConfig: HASH_CONFIG, rounds: '9' }, 'from 1 to 8'],
  [{ hashConfig: HASH_CONFIG, signerKey: 'AAAA' }, 'too short'],
])('refuses the hash parameters %p', async (options, message) => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  await expect(imports.runFixture('firebase.json', options)).rejects.toThrow(message)
})

test('imports Supabase rows from JSON Lines, with identities', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  await using imports = await createImports(app)
  const { outcome } = await imports.runFixture('supabase.jsonl')
  expect(outcome).toMatchObject({ format: 'supabase', imported: 4, withoutPassword: 1 })
  expect(outcome.reasons).toEqual(REASONS.supabase)
  const ann = (await logIn(app, 'ann@example.com', PASSWORD)).json.response.user
  expect(ann).toMatchObject({
    emailVerified: true,
    profile: { name: 'Ann "A" O\'Hara, Jr.\nline', locale: 'pt-BR' },
  })
  const account = await app.services.accounts.exportAccount(ann._id)
  expect(account.createdAt).toBe('2024-03-01T09:59:00.123Z')
  expect((await logIn(app, 'bob@example.com', PASSWORD)).json.response.user.emailVerified).toBe(
    false,
  )
  const idToken = await idp.mint('google', { sub: '110169484474386276334' })
  const json = { provider: 'google', idToken }
  const cleo = (await app.ask('POST', '/api/auth/social/v1', { json })).json.response.user
  expect([cleo.email, cleo.profile.name]).toEqual(['cleo@example.com', 'Cleo'])
})

test('imports Supabase rows from CSV', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const { outcome } = await imports.runFixture('supabase.csv')
  expect(outcome).toMatchObject({ format: 'supabase', imported: 4, withoutPassword: 2 })
  expect(outcome.reasons).toEqual(REASONS.supabase)
  const ann = (await logIn(app, 'ann@example.com', PASSWORD)).json.response.user
  expect(ann.profile.name).toBe('Ann "A" O\'Hara, Jr.\nline')
  expect((await logIn(app, 'magic@example.com', PASSWORD)).status).toBe(401)
  // Both files contain the same users.
  expect((await imports.runFixture('supabase.jsonl')).outcome).toMatchObject({
    present: 4,
    imported: 0,
  })
})

test('a user whose ban has ended is imported', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const row = (banned_until: string) => ({
    encrypted_password: '',
    email: `${banned_until.length}@example.com`,
    banned_until,
  })
  const bans = ['2020-01-01 00:00:00+00', '2020-01-01T00:00:00.5+00:00', 'infinity', '2999-01-01']
  const { outcome } = await imports.run(bans.map(row))
  expect(outcome).toMatchObject({ imported: 2, reasons: { 'is banned': 2 } })
})

test.each(['pocketbase.db', 'pocketbase.json'])(
  'imports PocketBase users from %s',
  async (name) => {
    using idp = await startIdentityProvider()
    await using app = await createTestApp({}, idp)
    await using imports = await createImports(app)
    const { outcome } = await imports.runFixture(name)
    expect(outcome).toMatchObject({ format: 'pocketbase', imported: 3, refused: 0 })
    const ann = (await logIn(app, 'ann@example.com', PASSWORD)).json.response.user
    expect(ann).toMatchObject({ emailVerified: true, profile: { name: 'Ann' } })
    expect((await logIn(app, 'bob@example.com', PASSWORD)).json.response.user.emailVerified).toBe(
      false,
    )
    const [{ formerId }] = (await imports.readLines(`${name}.ids.jsonl`)) ?? []
    expect(formerId).toMatch(/^[a-z0-9]{15}$/)
    if (name === 'pocketbase.json') return
    const json = {
      provider: 'google',
      idToken: await idp.mint('google', { sub: '110169484474386276334' }),
    }
    const cleo = (await app.ask('POST', '/api/auth/social/v1', { json })).json.response.user
    expect(cleo.email).toBe('cleo@example.com')
  },
)

test('imports users from PocketBase before 0.23, from another collection', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  await using imports = await createImports(app)
  // https://github.com/pocketbase/pocketbase/blob/v0.22.0/models/external_auth.go
  using old = new Database(imports.path('data.db'))
  old.run('CREATE TABLE _collections (id TEXT, name TEXT)')
  old.run(
    'CREATE TABLE _externalAuths (collectionId TEXT, recordId TEXT, provider TEXT, providerId TEXT)',
  )
  old.run(
    'CREATE TABLE members (id TEXT, email TEXT, verified BOOLEAN, tokenKey TEXT, passwordHash TEXT, created TEXT)',
  )
  old.run("INSERT INTO _collections VALUES ('c1', 'members')")
  old.run(
    "INSERT INTO _externalAuths VALUES ('c1', 'r1', 'apple', 'a-1'), ('c2', 'r1', 'apple', 'a-2')",
  )
  old
    .query(
      "INSERT INTO members VALUES ('r1', 'ann@example.com', 1, 't', ?, '2022-01-02 03:04:05.678Z')",
    )
    .run('$2a$04$ltP2Wwyy9lAfa9pBU9EVletxsSfUWTAatYDefb89JdX92tLbWd9IO')
  const { outcome } = await runCommand(app, 'user import', [imports.path('data.db')], {
    collection: 'members',
  })
  expect(outcome).toMatchObject({ format: 'pocketbase', imported: 1 })
  const { _id: id } = (await logIn(app, 'ann@example.com', PASSWORD)).json.response.user
  expect((await app.services.accounts.exportAccount(id)).createdAt).toBe('2022-01-02T03:04:05.678Z')
  expect(await app.services.users.identities.list(id)).toMatchObject([{ subject: 'a-1' }])
})

test('refuses a database without the auth collection', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const run = imports.runFixture('pocketbase.db', { collection: `mem"bers'` })
  await expect(run).rejects.toThrow('--collection')
})

test('refuses bad lines and imports the others', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const { outcome } = await imports.run([
    { email: 'a@example.com' },
    '{"email":"b@example.com"',
    '[]',
    '',
    `{"email":"c@example.com","name":"${'x'.repeat(2 ** 20)}"}`,
    { email: 'd@example.com', passwordhash: 'x' },
    { email: 'e@example.com', createdAt: 'yesterday' },
    { email: 's@example.com', createdAt: 1_714_555_800 },
    { email: 'f@example.com', name: 'a\0b' },
    { email: ['g@example.com'] },
    { email: 'h@example.com', identities: [{ provider: 'github', subject: '1' }] },
    { email: 'i@example.com', identities: [{ provider: 'google' }] },
    { email: 'j@example.com', identities: [null] },
    { email: 'k@example.com', passwordHash: 'correct horse battery' },
    { name: 'no address' },
    { email: 'z@example.com' },
  ])
  expect(outcome).toMatchObject({ imported: 2, refused: 13 })
  const refused = (await imports.readLines('users.jsonl.refused.jsonl')) ?? []
  expect(refused.map(({ line }) => line)).toEqual([2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])
  expect(new Set(refused.map(({ reason }) => reason)).size).toBe(12)
})

test.each([
  { localId: 'u', email: 'a@example.com', providerUserInfo: [null] },
  { localId: 'u', email: 'a@example.com', providerUserInfo: 'google' },
  { encrypted_password: '', email: 'a@example.com', identities: '{' },
  { encrypted_password: '', email: 'a@example.com', identities: [1] },
  { encrypted_password: '', email: 'a@example.com', raw_user_meta_data: '{' },
  { tokenKey: '', email: 'a@example.com', externalAuths: {} },
  { email: 'a@example.com', identities: 'x' },
])('refuses a malformed user and continues: %j', async (user) => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const malformed = ['providerUserInfo', 'identities', 'raw_user_meta_data', 'externalAuths']
  const good = Object.entries(user).filter(([name]) => !malformed.includes(name))
  const { outcome } = await imports.run([user, Object.fromEntries(good)])
  expect(outcome).toMatchObject({ imported: 1, refused: 1 })
})

test('refuses a file of another kind', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  await expect(imports.run(['a,b', '1,2'])).rejects.toThrow('unknown format')
})

test('finds the same records however the file is cut into chunks', async () => {
  const json = '[{"a":"}\\"{"},\n{"b":{"c":[{}]}} , {"ä":"好"}]'
  const csv = 'email,name\r\n"a@b","x ""y"",\nz"\n\nc@d,\n'
  for (let size = 1; size < json.length; size++) {
    expect(await split(json, size, records.objectsAt(1))).toEqual([
      { line: 1, text: '{"a":"}\\"{"}' },
      { line: 2, text: '{"b":{"c":[{}]}}' },
      { line: 2, text: '{"ä":"好"}' },
    ])
    const rows = await split(csv, size, records.lines({ quotes: true }))
    expect(rows.map(({ line, text }) => [line, records.csvFields(text ?? '')])).toEqual([
      [1, ['email', 'name']],
      [2, ['a@b', 'x "y",\nz']],
      [5, ['c@d', '']],
    ])
  }
})

async function split(text: string, size: number, scan: Parameters<typeof splitRecords>[1]) {
  const bytes = Buffer.from(text)
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  return Array.fromAsync(splitRecords(chunks(), scan))
}
