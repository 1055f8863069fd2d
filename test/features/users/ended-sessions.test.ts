import { describe, expect, test } from 'bun:test'
import { createTestApp, PASSWORD } from '../../support/app.ts'
import { signInByCode } from '../../support/email-code.ts'
import { createPasskey } from '../../support/passkey.ts'
import { createApp, creationOptions, ORIGIN, PASSKEY_PATH } from '../../support/passkey-requests.ts'

const EMAIL = 'ann@example.com'

describe('a session that ends during a request', () => {
  test('adds no passkey', async () => {
    await using app = await createApp()
    const { accessToken: token, user } = await app.register(EMAIL)
    const { json } = await creationOptions(app, token)
    const credential = createPasskey(ORIGIN).register(json.response)
    const { accountSecurity, oneTimeTokens } = app.services.users
    const { find } = oneTimeTokens
    oneTimeTokens.find = async (...args) => {
      const found = await find(...args)
      await accountSecurity.signOut(user._id)
      return found
    }
    const reply = await app.ask('POST', PASSKEY_PATH, { token, json: { credential } })
    const { db } = app.services
    expect([reply.status, await db.read.$count(db.tables.passkeys)]).toEqual([401, 0])
  })

  test('changes no address', async () => {
    await using app = await createTestApp()
    const { accessToken: token, user } = await signInByCode(app, EMAIL)
    const { ownerProof, accountSecurity } = app.services.users
    const { prove } = ownerProof
    ownerProof.prove = async (...args) => {
      const recheck = await prove(...args)
      await accountSecurity.signOut(user._id)
      return recheck
    }
    const json = { email: 'stranger@example.com' }
    const reply = await app.ask('POST', '/api/auth/email/v1/change', { token, json })
    expect(reply.status).toBe(403)
  })
})

test('a guest’s request for a passkey ends when the guest becomes an account', async () => {
  await using app = await createApp()
  const { accessToken: token } = (await app.ask('POST', '/api/auth/guest/v1')).json.response
  const { json } = await creationOptions(app, token)
  const upgraded = await app.ask('POST', '/api/auth/register/v1', {
    token,
    json: { email: EMAIL, password: PASSWORD },
  })
  expect(upgraded.status).toBe(200)
  const credential = createPasskey(ORIGIN).register(json.response)
  const reply = await app.ask('POST', PASSKEY_PATH, { token, json: { credential } })
  expect(reply.status).toBe(401)
})
