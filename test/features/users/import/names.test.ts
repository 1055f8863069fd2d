import { expect, test } from 'bun:test'
import { createTestApp } from '../../../support/app.ts'
import { createImports } from './support.ts'

test.each<[name: unknown, imported: string]>([
  [{ first: 'Ann' }, ''],
  [['Ann'], ''],
  [42, ''],
  [true, ''],
  ['x'.repeat(20_000), ''],
  ['a\0b', ''],
  ['\ud800', ''],
  ['Ann', 'Ann'],
])('a user of another system whose name is %j is imported', async (name, imported) => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const email = (at: number) => `user${at}@example.com`
  const metadata = { name, full_name: name }
  const files = [
    [{ encrypted_password: '', email: email(0), raw_user_meta_data: metadata }],
    [{ encrypted_password: '', email: email(1), raw_user_meta_data: JSON.stringify(metadata) }],
    [{ localId: 'u', email: email(2), displayName: name }],
    [{ tokenKey: 'x', email: email(3), name }],
  ]
  for (const users of files) expect((await imports.run(users)).outcome.imported).toBe(1)
  const { users } = app.services.db.tables
  const rows = await app.services.db.read.select({ name: users.name }).from(users)
  expect(rows.map((row) => row.name)).toEqual([imported, imported, imported, imported])
})

test('the full name of a Supabase user replaces a name that is not text', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const metadata = { name: { first: 'Ann' }, full_name: 'Ann Lee' }
  await imports.run([
    { encrypted_password: '', email: 'a@example.com', raw_user_meta_data: metadata },
  ])
  const { users } = app.services.db.tables
  const [row] = await app.services.db.read.select({ name: users.name }).from(users)
  expect(row?.name).toBe('Ann Lee')
})
