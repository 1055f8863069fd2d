import { expect, test } from 'bun:test'
import { exportPKCS8, generateKeyPair } from 'jose'
import { createAppleGrants } from '../../../src/features/users/social/apple-grants.ts'
import { createTestApp } from '../../support/app.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'

test('an endless response from a provider is read only up to the limit for keys', async () => {
  using idp = await startIdentityProvider()
  const idToken = await idp.mint('google', { sub: 'g-1' })
  const json = { provider: 'google', idToken }
  await using app = await createTestApp({}, { providers: idp.providers })
  app.expectErrors()
  for (const status of [200, 500]) {
    Object.assign(idp.endless, { isOn: true, status, sent: 0 })
    expect((await app.ask('POST', '/api/auth/social/v1', { json })).status).toBe(503)
    expect(idp.endless.sent).toBeLessThan(64 * 2 ** 20)
  }
})

test('an endless response from Apple is read only up to the limit for a grant', async () => {
  using idp = await startIdentityProvider()
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const keys = {
    teamId: 'T',
    keyId: 'K',
    privateKey: await exportPKCS8(privateKey),
    url: idp.url,
  }
  const grants = createAppleGrants(keys, () => new Date())
  for (const status of [200, 500]) {
    Object.assign(idp.endless, { isOn: true, status, sent: 0 })
    await expect(grants.exchange('code', 'client')).rejects.toThrow('Apple')
    await grants.revoke('token', 'client').catch(() => {})
    expect(idp.endless.sent).toBeLessThan(64 * 2 ** 20)
  }
})
