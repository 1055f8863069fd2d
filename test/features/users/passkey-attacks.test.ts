import { describe, expect, test } from 'bun:test'
import { PASSWORD } from '../../support/app.ts'
import { createPasskey } from '../../support/passkey.ts'
import {
  addPasskey,
  createApp,
  creationOptions,
  EMAIL,
  ORIGIN,
  type Overrides,
  PASSKEY_PATH,
  signInWithPasskey,
} from '../../support/passkey-requests.ts'

const MINUTE = 60_000

/** A challenge like the server's, valid for half an hour, with an invented signature. */
function forgedChallenge(): string {
  const bytes = Buffer.alloc(6 + 16 + 32, 7)
  bytes.writeUIntBE(Date.now() + 30 * MINUTE, 0, 6)
  return bytes.toString('base64url')
}

describe('a sign-in is refused', () => {
  test.each<[string, Overrides]>([
    ['with a challenge of another shape', { challenge: 'Zk3v9Qw1x5c7B2n4M6j8H0' }],
    ['with a challenge that the server has not signed', { challenge: forgedChallenge() }],
    ['from the page of another site', { origin: 'https://evil.example' }],
    ['for another relying party', { host: 'evil.example' }],
    ['when the device has not verified its user', { isVerified: false }],
  ])('%s', async (_name, overrides) => {
    await using app = await createApp()
    const { accessToken } = await app.register(EMAIL)
    const { passkey } = await addPasskey(app, accessToken)
    const { status, json } = await signInWithPasskey(app, passkey, overrides)
    expect([status, json.message]).toEqual([401, 'This passkey was not accepted.'])
    expect((await signInWithPasskey(app, passkey)).status).toBe(200)
  })

  test('with an unknown passkey, with the same message', async () => {
    await using app = await createApp()
    const { status, json } = await signInWithPasskey(app, createPasskey(ORIGIN))
    expect([status, json.message]).toEqual([401, 'This passkey was not accepted.'])
  })

  test('with the key of another device', async () => {
    await using app = await createApp()
    const { passkey } = await addPasskey(app, (await app.register(EMAIL)).accessToken)
    const { json } = await app.ask('POST', `${PASSKEY_PATH}/sign_in/options`)
    const forged = { ...createPasskey(ORIGIN).authenticate(json.response), id: passkey.id }
    const reply = await app.ask('POST', `${PASSKEY_PATH}/sign_in`, {
      json: { credential: { ...forged, rawId: passkey.id } },
    })
    expect(reply.status).toBe(401)
  })

  test('after an hour', async () => {
    await using app = await createApp()
    const { passkey } = await addPasskey(app, (await app.register(EMAIL)).accessToken)
    const { json } = await app.ask('POST', `${PASSKEY_PATH}/sign_in/options`)
    const credential = passkey.authenticate(json.response)
    app.clock.advance(60 * MINUTE)
    expect(
      (await app.ask('POST', `${PASSKEY_PATH}/sign_in`, { json: { credential } })).status,
    ).toBe(401)
  })

  test('the second time, even when both arrive at once', async () => {
    await using app = await createApp()
    const { passkey } = await addPasskey(app, (await app.register(EMAIL)).accessToken)
    const { json } = await app.ask('POST', `${PASSKEY_PATH}/sign_in/options`)
    const credential = passkey.authenticate(json.response)
    const send = () => app.ask('POST', `${PASSKEY_PATH}/sign_in`, { json: { credential } })
    const statuses = (await Promise.all([send(), send()])).map(({ status }) => status)
    expect([...statuses.toSorted(), (await send()).status]).toEqual([200, 401, 401])
  })

  test('the second time, even with another spelling of the challenge', async () => {
    await using app = await createApp()
    const { passkey } = await addPasskey(app, (await app.register(EMAIL)).accessToken)
    const { challenge } = (await app.ask('POST', `${PASSKEY_PATH}/sign_in/options`)).json.response
    expect((await signInWithPasskey(app, passkey, { challenge })).status).toBe(200)
    expect((await signInWithPasskey(app, passkey, { challenge: `${challenge}=` })).status).toBe(401)
  })

  test('on behalf of another user', async () => {
    await using app = await createApp()
    const { passkey } = await addPasskey(app, (await app.register(EMAIL)).accessToken)
    const { json } = await app.ask('POST', `${PASSKEY_PATH}/sign_in/options`)
    const credential = passkey.authenticate(json.response)
    credential.response['userHandle'] = Buffer.from('another user').toString('base64url')
    const reply = await app.ask('POST', `${PASSKEY_PATH}/sign_in`, { json: { credential } })
    expect(reply.status).toBe(401)
  })

  test('with the challenge of a registration', async () => {
    await using app = await createApp()
    const { accessToken } = await app.register(EMAIL)
    const { passkey } = await addPasskey(app, accessToken)
    const { json } = await creationOptions(app, accessToken)
    const credential = passkey.authenticate(json.response)
    expect(
      (await app.ask('POST', `${PASSKEY_PATH}/sign_in`, { json: { credential } })).status,
    ).toBe(401)
  })

  test('with a passkey whose relying party has changed', async () => {
    await using app = await createApp()
    const { passkey } = await addPasskey(app, (await app.register(EMAIL)).accessToken)
    const { db } = app.services
    await db.write((tx) => tx.update(db.tables.passkeys).set({ rpId: 'old.example' }).returning())
    expect((await signInWithPasskey(app, passkey)).status).toBe(401)
  })

  test('too often from one network', async () => {
    await using app = await createApp()
    const passkey = createPasskey(ORIGIN)
    const statuses = []
    for (let at = 0; at < 101; at++) statuses.push((await signInWithPasskey(app, passkey)).status)
    expect(statuses).toEqual([...Array(100).fill(401), 429])
  })
})

describe('a registration is refused', () => {
  test('ten minutes after the sign-in, unless the password is sent', async () => {
    await using app = await createApp()
    const { accessToken: token } = await app.register(EMAIL)
    app.clock.advance(11 * MINUTE)
    const { status, json } = await creationOptions(app, token)
    expect([status, json.code]).toEqual([403, 'recent_sign_in_required'])
    const wrong = await creationOptions(app, token, { password: 'wrong password' })
    expect(wrong.status).toBe(401)
    expect((await creationOptions(app, token, { password: PASSWORD })).status).toBe(200)
  })

  test('with the challenge of another user', async () => {
    await using app = await createApp()
    const { accessToken: token } = await app.register(EMAIL)
    const { accessToken: stranger } = await app.register('bea@example.com')
    const { json } = await creationOptions(app, token)
    const credential = createPasskey(ORIGIN).register(json.response)
    const reply = await app.ask('POST', PASSKEY_PATH, { token: stranger, json: { credential } })
    expect(reply.status).toBe(401)
  })

  test('for a passkey of another user, which stays with that user', async () => {
    await using app = await createApp()
    const owner = await app.register(EMAIL)
    const { passkey } = await addPasskey(app, owner.accessToken)
    const { accessToken: stranger } = await app.register('bea@example.com')
    const { reply } = await addPasskey(app, stranger, passkey)
    expect(reply.status).toBe(409)
    expect((await signInWithPasskey(app, passkey)).json.response.user._id).toBe(owner.user._id)
  })

  test.each<[string, Overrides]>([
    ['from the page of another site', { origin: 'https://evil.example' }],
    ['when the device has not verified its user', { isVerified: false }],
  ])('%s', async (_name, overrides) => {
    await using app = await createApp()
    const { accessToken: token } = await app.register(EMAIL)
    const { json } = await creationOptions(app, token)
    const credential = createPasskey(ORIGIN).register(json.response, overrides)
    expect((await app.ask('POST', PASSKEY_PATH, { token, json: { credential } })).status).toBe(401)
  })

  test('for a twenty-first passkey', async () => {
    await using app = await createApp()
    const { accessToken: token } = await app.register(EMAIL)
    const statuses = []
    for (let at = 0; at < 21; at++) statuses.push((await addPasskey(app, token)).reply.status)
    expect(statuses).toEqual([...Array(20).fill(200), 409])
  })
})
