import { describe, expect, test } from 'bun:test'
import { createMemoryStorage } from '../../src/client/storage.ts'
import { PASSWORD } from '../support/app.ts'
import { BACKENDS } from '../support/backends.ts'
import { clientOf } from '../support/network.ts'

const LOGIN = { email: 'ann@example.com', password: PASSWORD }
const PLAIN = { env: 'test' }

describe.each(BACKENDS)('$name:', ({ open }) => {
  test('a user whose session has ended can sign in again immediately', async () => {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    await client.register(LOGIN)
    await app.endSessions()
    expect(await client.login(LOGIN)).toHaveProperty('accessToken')
  })

  describe('starting as a guest', () => {
    test('continues as the existing guest, even for two concurrent calls', async () => {
      await using app = await open()
      const { client } = clientOf(app, PLAIN)
      const first = await Promise.all([client.startAsGuest(), client.startAsGuest()])
      app.clock.advance(16 * 60_000)
      const later = await client.startAsGuest()
      const sessions = [...first, later]
      expect(new Set(sessions.map(({ user }) => user._id)).size).toBe(1)
      const { accessToken, expiresIn } = later
      expect([accessToken, expiresIn > 0]).toEqual([await client.accessToken(), true])
    })

    test('is refused while a user is signed in', async () => {
      await using app = await open()
      const { client } = clientOf(app, PLAIN)
      await client.register(LOGIN)
      await expect(client.startAsGuest()).rejects.toMatchObject({ code: 'conflict' })
      expect((await client.readProfile()).email).toBe(LOGIN.email)
    })
  })

  test('a guest stays signed in if an intermediary removes the token from POST requests', async () => {
    await using app = await open()
    const { client, network } = clientOf(app, PLAIN)
    const { user } = await client.startAsGuest()
    network.interceptor = {
      request(request) {
        const headers = new Headers(request.headers)
        if (request.method === 'POST') headers.delete('authorization')
        return new Request(request, { headers })
      },
    }
    await expect(client.register(LOGIN)).rejects.toMatchObject({ code: 'token_lost' })
    expect((await client.readProfile())._id).toBe(user._id)
  })

  test("the tokens of one server are neither sent to another nor cleared by the other's logout", async () => {
    await using app = await open()
    const storage = createMemoryStorage()
    const baseUrl = 'http://LOCALHOST'
    const here = clientOf(app, { ...PLAIN, storage })
    const elsewhere = clientOf(app, { ...PLAIN, storage, baseUrl })
    await here.client.startAsGuest()
    expect(await elsewhere.client.isSignedIn()).toBe(false)
    await elsewhere.client.logout()
    expect(elsewhere.network.seen).toEqual([])
    expect(
      (
        await clientOf(app, {
          ...PLAIN,
          storage,
          baseUrl: 'http://localhost/',
        }).client.readProfile()
      ).loginType,
    ).toBe('guest')
    const {
      baseUrl: _,
      isGuest: __,
      ...old
    } = JSON.parse(String(storage.getItem('homeport.session')))
    await storage.setItem('homeport.session', JSON.stringify(old))
    expect((await here.client.readProfile()).loginType).toBe('guest')
  })
})
