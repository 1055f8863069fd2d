import { describe, expect, test } from 'bun:test'
import { TOTP } from 'totp-generator'
import { createTestApp, PASSWORD, type TestApp } from '../support/app.ts'
import { clientOf } from '../support/network.ts'

const LOGIN = { email: 'ann@example.com', password: PASSWORD }
const PLAIN = { env: 'test' }
const FILE = { name: 'a.txt', type: 'text/plain', data: new TextEncoder().encode('text') }

describe('a guest whose address is taken', () => {
  test('keeps the files by signing in instead', async () => {
    await using app = await createTestApp()
    await clientOf(app, PLAIN).client.register(LOGIN)
    const { client } = await guestWithFile(app)
    await expect(client.register(LOGIN)).rejects.toMatchObject({ code: 'email_taken' })
    await client.login(LOGIN)
    expect((await client.listAttachments()).attachments).toHaveLength(1)
  })

  test('keeps them with two-factor on, and the session until the second step', async () => {
    await using app = await createTestApp()
    const ann = clientOf(app, PLAIN).client
    await ann.register(LOGIN)
    const { secret } = await ann.setUpTwoFactor({ password: PASSWORD })
    const code = async () =>
      (await TOTP.generate(secret, { timestamp: app.clock.now.getTime() })).otp
    await ann.confirmTwoFactor({ code: await code() })
    app.clock.advance(30_000)
    const { client } = await guestWithFile(app)
    const result = await client.login(LOGIN)
    if (!('challengeToken' in result)) throw new Error('no challenge')
    expect((await client.readProfile()).loginType).toBe('guest')
    await client.passTwoFactor({ challengeToken: result.challengeToken, code: await code() })
    expect((await client.listAttachments()).attachments).toHaveLength(1)
  })
})

test('a user whose session has ended signs in at once', async () => {
  await using app = await createTestApp()
  const { client } = clientOf(app, PLAIN)
  await client.register(LOGIN)
  const { db } = app.services
  await db.write(async (tx) => void (await tx.delete(db.tables.sessions)))
  expect(await client.login(LOGIN)).toHaveProperty('accessToken')
})

async function guestWithFile(app: TestApp) {
  const made = clientOf(app, PLAIN)
  const { user } = await made.client.startAsGuest()
  await made.client.uploadAttachments({ type: 'supportTicket', files: [FILE] })
  return { ...made, user }
}
