import { describe, expect, test } from 'bun:test'
import { PASSWORD } from '../../support/app.ts'
import { BACKENDS } from '../../support/backends.ts'
import { clientOf, type Served } from '../../support/network.ts'

const LOGIN = { email: 'ann@example.com', password: PASSWORD }
const PLAIN = { env: 'test' }

describe.each(BACKENDS)('$name:', ({ open }) => {
  describe('a guest whose address is taken', () => {
    test('keeps the data by signing in instead', async () => {
      await using app = await open()
      await clientOf(app, PLAIN).client.register(LOGIN)
      const { client } = await guestWithData(app)
      await expect(client.register(LOGIN)).rejects.toMatchObject({ code: 'email_taken' })
      await client.login(LOGIN)
      expect((await client.readData()).data).toEqual({ level: 3 })
    })

    test('keeps the data with two-factor sign-in, and stays a guest until the second step', async () => {
      await using app = await open()
      const ann = clientOf(app, PLAIN).client
      await ann.register(LOGIN)
      const { secret } = await ann.setUpTwoFactor({ password: PASSWORD })
      const code = () => app.codeFor(secret)
      await ann.confirmTwoFactor({ code: await code() })
      app.clock.advance(30_000)
      const { client } = await guestWithData(app)
      const result = await client.login(LOGIN)
      if (!('challengeToken' in result)) throw new Error('no challenge')
      expect((await client.readProfile()).loginType).toBe('guest')
      await client.passTwoFactor({ challengeToken: result.challengeToken, code: await code() })
      expect((await client.readData()).data).toEqual({ level: 3 })
    })
  })
})

async function guestWithData(app: Served) {
  const connection = clientOf(app, PLAIN)
  const { user } = await connection.client.startAsGuest()
  await connection.client.replaceData({ level: 3 })
  return { ...connection, user }
}
