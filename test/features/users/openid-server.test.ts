import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { MOBILE_CLIENT, OTHER_CLIENT, startOpenIdServer } from '../../support/openid-server.ts'

const HOUR_MS = 60 * 60_000

test('signs in with an id token from oidc-provider, for a code with PKCE', async () => {
  using server = await startOpenIdServer()
  await using app = await openApp(server.issuer)
  const idToken = await server.signIn('ann', 'n-1')
  const { status, json } = await social(app, idToken, 'n-1')
  expect(status).toBe(200)
  expect(json.response.user).toMatchObject({
    loginType: 'oidc',
    email: 'ann@acme.test',
    emailVerified: true,
    profile: { name: 'ann' },
  })
  const again = await social(app, await server.signIn('ann', 'n-2'), 'n-2')
  expect(again.json.response.user._id).toBe(json.response.user._id)
})

test('refuses tokens from oidc-provider for another nonce, client, time or issuer', async () => {
  using server = await startOpenIdServer()
  using stranger = await startOpenIdServer()
  await using app = await openApp(server.issuer)
  const idToken = await server.signIn('ann', 'n-1')
  expect((await social(app, idToken, 'n-2')).status).toBe(401)
  expect((await social(app, idToken)).status).toBe(401)
  expect((await social(app, await server.signIn('ann', 'n', OTHER_CLIENT), 'n')).status).toBe(401)
  expect((await social(app, await stranger.signIn('ann', 'n'), 'n')).status).toBe(401)
  app.clock.advance(2 * HOUR_MS)
  expect((await social(app, idToken, 'n-1')).status).toBe(401)
})

test('an unverified address from oidc-provider does not take over an account', async () => {
  using server = await startOpenIdServer()
  await using app = await openApp(server.issuer)
  const { directory } = app.services.users
  for (const login of ['ann', 'newcomer']) {
    const { user } = await app.register(`${login}@acme.test`)
    await directory.setEmailVerified(await directory.find(user._id), true)
    const signedIn = await social(app, await server.signIn(login, 'n'), 'n')
    expect([login, signedIn.json.response.user._id === user._id]).toEqual([login, login === 'ann'])
  }
})

function openApp(issuer: string): Promise<TestApp> {
  return createTestApp({
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_IDS: MOBILE_CLIENT,
    OIDC_EMAIL_DOMAINS: 'acme.test',
  })
}

function social(app: TestApp, idToken: string, nonce?: string) {
  const json = { provider: 'oidc', idToken, ...(nonce ? { nonce } : {}) }
  return app.ask('POST', '/api/auth/social/v1', { json })
}
