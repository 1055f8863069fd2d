import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { decodeProtectedHeader } from 'jose'
import { secretFile } from '../../../src/config/secrets.ts'
import { createKeyRing } from '../../../src/lib/crypto/key-ring.ts'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { onSqlite } from '../../support/databases.ts'

const DAY = 24 * 60 * 60 * 1000
const MINUTE = 60_000

test('publishes a new key a day before it signs; the old one verifies until its tokens expire', async () => {
  await using app = await createTestApp()
  const { user, ...first } = await app.register()
  const signIn = async () => {
    const json = { email: user.email, password: PASSWORD }
    const reply = await app.ask('POST', '/api/auth/login/v1', { json })
    return reply.json.response.accessToken as string
  }
  await app.services.signingKeys.rotate(false)
  const [before, after] = await publishedKeyIds(app)
  expect([kidOf(first.accessToken), kidOf(await signIn())]).toEqual([before, before])

  app.clock.advance(DAY - MINUTE)
  const lastOfOld = await signIn()
  app.clock.advance(MINUTE)
  const firstOfNew = await signIn()
  expect([kidOf(lastOfOld), kidOf(firstOfNew)]).toEqual([before, after])
  expect(await statusOf(app, lastOfOld)).toBe(200)
  expect(await statusOf(app, firstOfNew)).toBe(200)

  app.clock.advance(14 * MINUTE - 1_000)
  expect(await statusOf(app, lastOfOld)).toBe(200)
  app.clock.advance(1_001 + MINUTE)
  await app.services.signingKeys.sweep()
  expect(await publishedKeyIds(app)).toEqual([after ?? ''])
  expect(await statusOf(app, lastOfOld)).toBe(401)
})

test('an immediate rotation invalidates old tokens, and phones refresh for new ones', async () => {
  await using app = await createTestApp()
  const { accessToken, refreshToken } = await app.register()
  await app.services.signingKeys.rotate(true)
  expect(await statusOf(app, accessToken)).toBe(401)
  const { json } = await app.ask('POST', '/api/auth/refresh/v1', { json: { refreshToken } })
  expect(await statusOf(app, json.response.accessToken)).toBe(200)
})

onSqlite('PostgreSQL has no key files')(
  'keeps signing with the single key of earlier versions',
  async () => {
    await using app = await createTestApp()
    const folder = join(app.dataDir, 'secrets')
    const jwk = await Bun.file(join(folder, 'access-token.jwk')).json()
    const storage = secretFile(folder, 'access-token.jwk')
    const { now } = app.services
    const ring = await createKeyRing({ storage, use: 'sig', gracePeriodMs: 0, now })
    expect(ring.current().jwk.kid).toBe(jwk.kid)
    await ring.rotate(false)
    expect(ring.list().map(({ state }) => state)).toEqual(['current', 'next'])
  },
)

async function publishedKeyIds(app: TestApp): Promise<string[]> {
  const { json } = await app.ask('GET', '/.well-known/jwks.json')
  const keys: { use: string; kid: string }[] = json.keys
  return keys.filter(({ use }) => use === 'sig').map(({ kid }) => kid)
}

function kidOf(token: string) {
  return decodeProtectedHeader(token).kid
}

async function statusOf(app: TestApp, token: string) {
  return (await app.ask('GET', '/api/user/profile/v1', { token })).status
}
