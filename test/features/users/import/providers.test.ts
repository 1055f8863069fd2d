import { expect, test } from 'bun:test'
import { toUserRecord } from '../../../../src/features/users/import/user-record.ts'
import { createTestApp } from '../../../support/app.ts'
import { startIdentityProvider } from '../../../support/identity-provider.ts'
import { createImports } from './support.ts'

test('imports users of the OpenID Connect provider only once it is set up', async () => {
  using idp = await startIdentityProvider()
  const row = { id: 'u1', identities: [{ provider: 'oidc', subject: 'o-1' }] }
  await using plain = await createTestApp()
  await using refused = await createImports(plain)
  expect((await refused.run([row])).outcome).toMatchObject({
    reasons: { 'has an account of the provider oidc, and OIDC_ISSUER is not set': 1 },
  })
  await using app = await createTestApp(idp.openId, idp)
  await using imports = await createImports(app)
  expect((await imports.run([row])).outcome).toMatchObject({ imported: 1 })
  expect((await imports.run([row])).outcome).toMatchObject({ present: 1 })
  const [user] = (await imports.readLines('users.jsonl.ids.jsonl')) ?? []
  const ann = { sub: 'o-1', email: 'ann@acme.test', email_verified: true, name: 'Ann' }
  const json = { provider: 'oidc', idToken: await idp.mint('oidc', ann) }
  const signedIn = await app.ask('POST', '/api/auth/social/v1', { json })
  expect(signedIn.json.response.user._id).toBe(user.id)
  const taken = (await imports.run([{ ...row, id: 'u2' }])).outcome
  expect(taken).toMatchObject({ reasons: { 'another account has this provider account': 1 } })
})

test('an address that Supabase confirmed automatically is imported as unverified', async () => {
  await using app = await createTestApp()
  await using imports = await createImports(app)
  const user = (name: string, confirmedAt: string) => ({
    id: name,
    email: `${name}@example.com`,
    encrypted_password: '',
    created_at: '2024-03-01T10:00:00.100000+00:00',
    email_confirmed_at: confirmedAt,
    identities: [],
  })
  const confirmed = user('ann', '2024-03-01T10:01:00.000000+00:00')
  await imports.run([confirmed, user('bob', '2024-03-01T10:00:00.104000+00:00')])
  const isVerified = async (name: string) => {
    const { db, users } = app.services
    const found = await users.accounts.findByEmail(db.read, `${name}@example.com`)
    return found && found.emailVerifiedAt !== null
  }
  expect([await isVerified('ann'), await isVerified('bob')]).toEqual([true, false])
})

test('invisible characters around an address are removed', () => {
  const draft = { email: '\u200ebob@example.com\n', emailVerified: true, identities: [] }
  expect(toUserRecord(draft, 'test', 1).email).toBe('bob@example.com')
})
