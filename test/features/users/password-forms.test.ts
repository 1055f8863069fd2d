import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { createTestApp, type TestApp } from '../../support/app.ts'

const NFC = 'Grüße vom Café'.normalize('NFC')
const NFD = NFC.normalize('NFD')
const EMAIL = 'ann@example.com'

test.each([
  ['NFC', NFC, NFD],
  ['NFD', NFD, NFC],
])('a password registered in %s works in either form', async (_form, registered, other) => {
  await using app = await createTestApp()
  const json = { email: EMAIL, password: registered }
  expect((await app.ask('POST', '/api/auth/register/v1', { json })).status).toBe(200)
  const before = await hashOf(app)
  for (const password of [registered, other]) expect(await signIn(app, password)).toBe(200)
  expect(await signIn(app, NFC.replace('ü', 'u'))).toBe(401)
  expect(await hashOf(app)).toBe(before)
})

test.each([
  ['NFC', NFC],
  ['NFD', NFD],
])(
  'a hash made before passwords were normalized is renewed by a sign-in in %s',
  async (_form, typed) => {
    await using app = await createTestApp()
    await app.register(EMAIL)
    const argon2 = { algorithm: 'argon2id', memoryCost: 64, timeCost: 1 } as const
    const former = await Bun.password.hash(NFD, argon2)
    const { db } = app.services
    const { users } = db.tables
    await db.write((tx) =>
      tx.update(users).set({ passwordHash: former }).where(eq(users.email, EMAIL)),
    )
    expect(await signIn(app, typed)).toBe(200)
    const renewed = await hashOf(app)
    expect(renewed).not.toBe(former)
    expect(await Bun.password.verify(NFC, renewed)).toBe(true)
    expect(await signIn(app, NFD)).toBe(200)
    expect(await hashOf(app)).toBe(renewed)
  },
)

test('the current password is accepted in either form', async () => {
  await using app = await createTestApp()
  const json = { email: EMAIL, password: NFC }
  const { accessToken: token } = (await app.ask('POST', '/api/auth/register/v1', { json })).json
    .response
  const change = { currentPassword: NFD, newPassword: 'eine andere Brücke' }
  const changed = await app.ask('PATCH', '/api/auth/password/v1', { token, json: change })
  expect(changed.status).toBe(200)
})

async function signIn(app: TestApp, password: string): Promise<number> {
  const json = { email: EMAIL, password }
  return (await app.ask('POST', '/api/auth/login/v1', { json })).status
}

async function hashOf({ services }: TestApp): Promise<string> {
  const user = await services.users.accounts.findByEmail(services.db.read, EMAIL)
  return user?.passwordHash ?? ''
}
