import { expect, test } from 'bun:test'
import { createTestApp } from '../../../support/app.ts'
import { createImports } from './support.ts'

test('another address from a provider does not verify the address of a Supabase user', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const identityWith = (email: string) => ({
    provider: 'google',
    identity_data: { sub: email, email },
  })
  const rowOf = (email: string, linked: string) => ({
    id: email,
    email,
    encrypted_password: '',
    created_at: '2024-03-01T09:59:00Z',
    email_confirmed_at: '2024-03-01T09:59:00Z',
    identities: [identityWith(linked)],
  })
  await imports.run([
    rowOf('ann@example.com', 'Ann@example.com'),
    rowOf('bob@example.com', 'eve@example.com'),
  ])
  const { db } = app.services
  const users = await db.read.select().from(db.tables.users)
  const verified = users.filter(({ emailVerifiedAt }) => emailVerifiedAt !== null)
  expect([users.length, verified.map(({ email }) => email)]).toEqual([2, ['ann@example.com']])
})
