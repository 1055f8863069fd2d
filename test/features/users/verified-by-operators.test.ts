import { describe, expect, test } from 'bun:test'
import { serverClient } from '../../support/api-keys.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { runCommand } from '../../support/commands.ts'
import { signInByCode } from '../../support/email-code.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import { signInOperator } from '../../support/operator.ts'

const ANN = { sub: 'o-1', email: 'ann@acme.test', email_verified: false, name: 'Ann' }

describe('an operator marks an unverified address from a provider as verified', () => {
  test('and the user then signs in with it', async () => {
    using idp = await startIdentityProvider()
    await using app = await createTestApp(idp.openId, idp)
    const idToken = await idp.mint('oidc', ANN)
    const id = (await social(app, idToken)).json.response.user._id
    await app.verifyEmail(id)
    expect((await signInByCode(app, ANN.email)).user._id).toBe(id)
  })

  test('unless another account has it', async () => {
    using idp = await startIdentityProvider()
    await using app = await createTestApp(idp.openId, idp)
    await app.register(ANN.email)
    const idToken = await idp.mint('oidc', ANN)
    const { user } = (await social(app, idToken)).json.response
    await expect(app.verifyEmail(user._id)).rejects.toMatchObject({ code: 'email_taken' })
  })
})

test('a patch that would verify another account’s address changes nothing else either', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp(idp.openId, idp)
  await app.register(ANN.email)
  const { user } = (await social(app, await idp.mint('oidc', ANN))).json.response
  const ask = await serverClient(app)
  const json = { profile: { name: 'Other' }, emailVerified: true }
  const reply = await ask('PATCH', `users/v1/${user._id}`, { json })
  expect([reply.status, reply.json.code]).toEqual([409, 'email_taken'])
  const { response } = (await ask('GET', `users/v1/${user._id}`)).json
  expect(response).toMatchObject({ profile: { name: 'Ann' }, emailVerified: false })
})

test('actions on a deleted user get 404', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const { user } = await app.register('bob@example.com')
  await app.services.deleteAccount(user._id)
  for (const action of ['send-verification', 'two-factor/reset', 'verify']) {
    const { status, json } = await ann.ask('POST', `people/${user._id}/${action}`)
    expect([action, status, json.code]).toEqual([action, 404, 'not_found'])
  }
})

function social(app: TestApp, idToken: string) {
  return app.ask('POST', '/api/auth/social/v1', { json: { provider: 'oidc', idToken } })
}

test('a verification does not undo an earlier change of address', async () => {
  await using app = await createTestApp()
  const { user } = await app.register('old@example.com')
  const { directory, accounts } = app.services.users
  const seen = await directory.find(user._id)
  await app.services.db.write((tx) => accounts.setVerifiedAddress(tx, user._id, 'new@example.com'))
  await expect(directory.setEmailVerified(seen, true)).rejects.toMatchObject({ code: 'conflict' })
  expect((await directory.find(user._id)).email).toBe('new@example.com')
})

test('e-mails that an operator requests do not use up the user’s limit', async () => {
  await using app = await createTestApp()
  await app.register('ann@example.com')
  const send = () => runCommand(app, 'user send-verification', ['ann@example.com'])
  for (let count = 0; count < 5; count++) await send()
  await expect(send()).rejects.toMatchObject({ code: 'rate_limited' })
  const json = { email: 'ann@example.com' }
  expect((await app.ask('POST', '/api/auth/password/v1/forgot', { json })).status).toBe(200)
})
