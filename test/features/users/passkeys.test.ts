import { describe, expect, test } from 'bun:test'
import { PASSWORD, type TestApp } from '../../support/app.ts'
import { createPasskey } from '../../support/passkey.ts'
import {
  addPasskey,
  createApp,
  creationOptions,
  EMAIL,
  ORIGIN,
  PASSKEY_PATH,
  signInWithPasskey,
} from '../../support/passkey-requests.ts'
import { startSmtp } from '../../support/smtp.ts'

const MINUTE = 60_000

describe('a passkey', () => {
  test('signs its owner in, without a name', async () => {
    await using app = await createApp()
    const { accessToken, user } = await app.register(EMAIL)
    const { passkey } = await addPasskey(app, accessToken)
    const { status, json } = await signInWithPasskey(app, passkey)
    expect([status, json.code, json.response.user._id]).toEqual([200, 'ok', user._id])
    const [listed] = (await app.ask('GET', PASSKEY_PATH, { token: accessToken })).json.response
    expect(listed).toMatchObject({ _id: passkey.id, name: 'Phone' })
    expect(listed.lastUsedAt).toBeString()
  })

  test('counts as two factors', async () => {
    await using app = await createApp()
    const { accessToken } = await app.register(EMAIL)
    const { passkey } = await addPasskey(app, accessToken)
    const { db } = app.services
    await db.write((tx) =>
      tx.update(db.tables.users).set({ twoFactorSince: new Date() }).returning(),
    )
    expect((await signInWithPasskey(app, passkey)).json.code).toBe('ok')
  })

  test('turns a guest into an account that keeps its id', async () => {
    await using app = await createApp()
    const { accessToken, user } = (await app.ask('POST', '/api/auth/guest/v1')).json.response
    app.clock.advance(5 * MINUTE)
    const { passkey } = await addPasskey(app, accessToken)
    const { json } = await signInWithPasskey(app, passkey)
    expect(json.response.user).toMatchObject({ _id: user._id, loginType: 'passkey', email: '' })
  })

  test('merges the guest whose token is sent', async () => {
    await using app = await createApp()
    const { accessToken } = await app.register(EMAIL)
    const { passkey } = await addPasskey(app, accessToken)
    const guest = (await app.ask('POST', '/api/auth/guest/v1')).json.response
    const { status } = await signInWithPasskey(app, passkey, {}, { token: guest.accessToken })
    expect(status).toBe(200)
    expect(await app.services.users.accounts.exists(guest.user._id)).toBe(false)
  })

  test('can be renamed and removed, but not by another user', async () => {
    await using app = await createApp()
    const { accessToken: token } = await app.register(EMAIL)
    const { passkey } = await addPasskey(app, token)
    const { accessToken: stranger } = await app.register('bea@example.com')
    const json = { id: passkey.id, name: 'Old phone' }
    const path = `${PASSKEY_PATH}?id=${passkey.id}`
    expect((await app.ask('PATCH', PASSKEY_PATH, { token: stranger, json })).status).toBe(404)
    expect((await app.ask('DELETE', path, { token: stranger })).status).toBe(404)
    expect((await app.ask('PATCH', PASSKEY_PATH, { token, json })).json.response.name).toBe(
      'Old phone',
    )
    expect((await app.ask('DELETE', path, { token })).status).toBe(200)
    expect((await signInWithPasskey(app, passkey)).status).toBe(401)
  })

  test('of an Android app signs in from the app', async () => {
    const fingerprint = Array(32).fill('AB').join(':')
    await using app = await createApp({ ANDROID_APPS: `com.example.app=${fingerprint}` })
    const { accessToken } = await app.register(EMAIL)
    const passkey = createPasskey(ORIGIN)
    const hash = Buffer.alloc(32, 0xab).toString('base64url')
    const origin = `android:apk-key-hash:${hash}`
    const { json } = await creationOptions(app, accessToken)
    const credential = passkey.register(json.response, { origin })
    await app.ask('POST', PASSKEY_PATH, { token: accessToken, json: { credential } })
    expect((await signInWithPasskey(app, passkey, { origin })).status).toBe(200)
    const other = `android:apk-key-hash:${Buffer.alloc(32, 0xac).toString('base64url')}`
    expect((await signInWithPasskey(app, passkey, { origin: other })).status).toBe(401)
  })

  test('of a related origin signs in from there', async () => {
    const origin = 'https://app.example.org'
    await using app = await createApp({ PASSKEY_ORIGINS: origin })
    const { accessToken } = await app.register(EMAIL)
    const { passkey } = await addPasskey(app, accessToken)
    expect((await signInWithPasskey(app, passkey, { origin })).status).toBe(200)
  })
})

describe('the last way to sign in cannot be removed', () => {
  test('when it is a passkey', async () => {
    await using app = await createApp()
    const { accessToken: token } = (await app.ask('POST', '/api/auth/guest/v1')).json.response
    const { passkey } = await addPasskey(app, token)
    const path = `${PASSKEY_PATH}?id=${passkey.id}`
    expect((await app.ask('DELETE', path, { token })).status).toBe(409)
    const signedIn = (await signInWithPasskey(app, passkey)).json.response
    await addPasskey(app, signedIn.accessToken)
    expect((await app.ask('DELETE', path, { token })).status).toBe(200)
  })

  test('when a passkey for an earlier host remains', async () => {
    await using app = await createApp()
    const token = await startWithPasskey(app)
    const { db } = app.services
    await db.write((tx) => tx.update(db.tables.passkeys).set({ rpId: 'old.example' }).returning())
    const { passkey } = await addPasskey(app, token)
    const path = `${PASSKEY_PATH}?id=${passkey.id}`
    expect((await app.ask('DELETE', path, { token })).status).toBe(409)
  })

  test('by two removals at once', async () => {
    await using app = await createApp()
    const token = await startWithPasskey(app)
    await addPasskey(app, token)
    const passkeys = (await app.ask('GET', PASSKEY_PATH, { token })).json.response
    const ids: string[] = passkeys.map(({ _id }: { _id: string }) => _id)
    const removals = ids.map((id) => app.ask('DELETE', `${PASSKEY_PATH}?id=${id}`, { token }))
    const statuses = (await Promise.all(removals)).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([200, 409])
  })
})

test('removing a passkey signs out the other devices', async () => {
  await using app = await createApp()
  const { accessToken: token } = await app.register(EMAIL)
  const { passkey } = await addPasskey(app, token)
  const thief = (await signInWithPasskey(app, passkey)).json.response.accessToken
  await app.ask('DELETE', `${PASSKEY_PATH}?id=${passkey.id}`, { token })
  expect((await app.ask('GET', PASSKEY_PATH, { token: thief })).status).toBe(401)
  expect((await app.ask('GET', PASSKEY_PATH, { token })).status).toBe(200)
})

test('adding a passkey is announced by e-mail', async () => {
  await using smtp = await startSmtp()
  await using app = await createApp({ SMTP_URL: smtp.url })
  const { accessToken } = await app.register(EMAIL)
  await smtp.next(EMAIL)
  await app.verifyEmail(EMAIL)
  await addPasskey(app, accessToken)
  expect((await smtp.next(EMAIL)).text).toContain('You can now sign in with the passkey “Phone”.')
})

test('a password reset removes passkeys, which a thief may have added', async () => {
  await using app = await createApp()
  const { accessToken, user } = await app.register(EMAIL)
  const { users, db } = app.services
  await app.verifyEmail(EMAIL)
  const { passkey } = await addPasskey(app, accessToken)
  const token = await db.write((tx) =>
    users.oneTimeTokens.issue(tx, 'reset-password', user._id, EMAIL),
  )
  const json = { token, newPassword: 'another good one' }
  expect((await app.ask('POST', '/api/auth/password/v1/reset', { json })).status).toBe(200)
  expect((await signInWithPasskey(app, passkey)).status).toBe(401)
})

test('a passkey is deleted with its account', async () => {
  await using app = await createApp()
  const { accessToken: token } = await app.register(EMAIL)
  const { passkey } = await addPasskey(app, token)
  await app.ask('DELETE', '/api/user/profile/v1', { token })
  expect(await app.services.db.read.$count(app.services.db.tables.passkeys)).toBe(0)
  expect((await signInWithPasskey(app, passkey)).status).toBe(401)
})

describe('a recent sign-in is accepted', () => {
  test('with a passkey that was removed after another was added', async () => {
    await using app = await createApp()
    const token = await startWithPasskey(app)
    app.clock.advance(MINUTE)
    const [lost] = (await app.ask('GET', PASSKEY_PATH, { token })).json.response
    await addPasskey(app, token)
    const path = `${PASSKEY_PATH}?id=${lost._id}`
    expect((await app.ask('DELETE', path, { token })).status).toBe(200)
    expect((await creationOptions(app, token)).status).toBe(200)
  })

  test('with a password that was set by e-mail, which also changes the login type to e-mail', async () => {
    await using app = await createApp()
    const guest = (await app.ask('POST', '/api/auth/guest/v1')).json.response
    await addPasskey(app, guest.accessToken)
    const { users, db } = app.services
    const change = { email: EMAIL, emailKey: EMAIL, emailVerifiedAt: app.clock.now }
    await db.write((tx) => users.accounts.update(tx, guest.user._id, change))
    const token = await db.write((tx) =>
      users.oneTimeTokens.issue(tx, 'reset-password', guest.user._id, EMAIL),
    )
    await app.ask('POST', '/api/auth/password/v1/reset', {
      json: { token, newPassword: PASSWORD },
    })
    const { json } = await app.ask('POST', '/api/auth/login/v1', {
      json: { email: EMAIL, password: PASSWORD },
    })
    expect(json.response.user.loginType).toBe('email')
    const reply = await creationOptions(app, json.response.accessToken)
    expect(reply.status).toBe(200)
  })
})

/** The token of a new user who has signed in with a passkey. */
async function startWithPasskey(app: TestApp): Promise<string> {
  const guest = (await app.ask('POST', '/api/auth/guest/v1')).json.response
  const { passkey } = await addPasskey(app, guest.accessToken)
  return (await signInWithPasskey(app, passkey)).json.response.accessToken
}
