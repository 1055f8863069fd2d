import { describe, expect, test } from 'bun:test'
import { ApiError, type AuthChange, type Storage } from '../../src/client/client.ts'
import { createMemoryStorage } from '../../src/client/storage.ts'
import { createTestApp, PASSWORD } from '../support/app.ts'
import { BACKENDS } from '../support/backends.ts'
import { clientOf, networkTo, plainReply } from '../support/network.ts'
import { until } from '../support/until.ts'

const LOGIN = { email: 'ann@example.com', password: PASSWORD }
const PLAIN = { env: 'test' }
const MINUTE = 60_000

const INVALID_REPLIES = [
  '{}',
  '[]',
  'null',
  '"Welcome"',
  '7',
  '{"code":"ok"}',
  '{"code":"ok","response":null}',
]

/** Simulates a proxy that removes the token. */
function withoutToken(request: Request): Request {
  const headers = new Headers(request.headers)
  headers.delete('authorization')
  return new Request(request, { headers })
}

describe.each(BACKENDS)('$name:', ({ open }) => {
  describe('a refused session', () => {
    test('is refreshed once, and kept if the refresh succeeds', async () => {
      await using app = await open()
      const { client, network, signedOut } = clientOf(app, PLAIN)
      const { user } = await client.startAsGuest()
      network.interceptor = { request: withoutToken }
      await expect(client.readProfile()).rejects.toMatchObject({ code: 'unauthenticated' })
      expect(network.seen.map((path) => path.split('/')[3])).toEqual([
        'guest',
        'profile',
        'refresh',
        'profile',
      ])
      network.interceptor = {}
      expect((await client.readProfile())._id).toBe(user._id)
      expect(signedOut.times).toBe(0)
    })

    test('of a guest makes register and social sign-in fail instead of creating an account', async () => {
      await using app = await open()
      const { client, signedOut } = clientOf(app, PLAIN)
      const social = { provider: 'google', idToken: 'x' } as const
      const signUps = [() => client.register(LOGIN), () => client.signInSocially(social)]
      for (const [at, signUp] of signUps.entries()) {
        await client.startAsGuest()
        await app.endSessions()
        await expect(signUp()).rejects.toMatchObject({ code: 'session_ended', status: 401 })
        expect([await client.isSignedIn(), signedOut.times]).toEqual([false, at + 1])
      }
      expect(await app.countUsers()).toBe(signUps.length)
      expect((await client.register(LOGIN)).user.email).toBe(LOGIN.email)
    })
  })

  test('a guest whose token is removed in transit does not get a new account', async () => {
    await using app = await open()
    const { client, network } = clientOf(app, PLAIN)
    const { user } = await client.startAsGuest()
    network.interceptor = { request: withoutToken }
    await expect(client.register(LOGIN)).rejects.toMatchObject({ code: 'unauthenticated' })
    network.interceptor = {}
    expect((await client.register(LOGIN)).user._id).toBe(user._id)
  })

  describe('two processes with one storage', () => {
    test('use the newer session that the other process stored, if their own is refused', async () => {
      await using app = await open()
      const storage = createMemoryStorage()
      const [first, second] = [clientOf(app, { ...PLAIN, storage }), clientOf(app, { storage })]
      second.client = clientOf(app, { ...PLAIN, storage, fetch: second.network.fetch }).client
      await first.client.register(LOGIN)
      second.network.interceptor = {
        async reply(reply, { url }) {
          if (!url.includes('refresh')) return reply
          second.network.interceptor = {}
          await first.client.login(LOGIN)
          return plainReply({ code: 'unauthenticated', message: 'Signed out.' }, 401)
        },
      }
      await second.client.refresh()
      expect((await second.client.readProfile()).email).toBe(LOGIN.email)
      expect([first.signedOut.times, second.signedOut.times]).toEqual([0, 0])
    })

    test('that repeatedly refresh at the same time stay signed in', async () => {
      await using app = await open()
      const storage = createMemoryStorage()
      const [first, second] = [clientOf(app, { ...PLAIN, storage }), clientOf(app, { storage })]
      second.client = clientOf(app, { ...PLAIN, storage, fetch: second.network.fetch }).client
      await first.client.register(LOGIN)
      for (let round = 0; round < 4; round++) {
        app.clock.advance(16 * MINUTE)
        // The second client reads the storage first, but its request arrives after the refresh of the first.
        second.network.interceptor = {
          async request(request) {
            if (request.url.includes('refresh')) await first.client.readProfile()
            return request
          },
        }
        expect((await second.client.readProfile()).email).toBe(LOGIN.email)
      }
      expect(app.hasDetectedReuse()).toBe(false)
    }, 60_000)
  })

  test('provides a fresh access token for the app’s other services', async () => {
    await using app = await open()
    const { client, network } = clientOf(app, PLAIN)
    await expect(client.accessToken()).rejects.toMatchObject({ code: 'unauthenticated' })
    const { accessToken } = await client.register(LOGIN)
    expect(await client.accessToken()).toBe(accessToken)
    app.clock.advance(16 * MINUTE)
    const next = await client.accessToken()
    expect(next).not.toBe(accessToken)
    const headers = { authorization: `Bearer ${next}` }
    expect((await network.fetch('http://localhost/api/user/profile/v1', { headers })).status).toBe(
      200,
    )
  })

  test('listeners in every tab are notified of session changes and their reasons', async () => {
    await using app = await open()
    const storage = createMemoryStorage()
    const here = clientOf(app, { ...PLAIN, storage })
    const there = clientOf(app, { ...PLAIN, storage })
    const elsewhere = clientOf(app, PLAIN)
    const heard = [here, there, elsewhere].map(({ client }) => {
      const changes: AuthChange[] = []
      const stop = client.onAuthChange((change) => changes.push(change))
      return { changes, stop }
    })
    const { client } = here
    await client.startAsGuest()
    await client.register(LOGIN)
    app.clock.advance(16 * MINUTE)
    await client.readProfile()
    await client.logout()
    await client.logout()
    await client.login(LOGIN)
    await app.endSessions()
    await client.readProfile().catch(() => {})
    await client.startAsGuest()
    await client.deleteProfile()
    const expected = [
      'signed_in',
      'signed_in',
      'refreshed',
      'signed_out',
      'signed_in',
      'session_ended',
      'signed_in',
      'account_deleted',
    ]
    const isHeard = () =>
      heard.slice(0, 2).every(({ changes }) => changes.at(-1)?.reason === expected.at(-1))
    await until(isHeard, 'the last change is not reported')
    expect(heard[0]?.changes.map(({ reason }) => reason)).toEqual(
      expected as AuthChange['reason'][],
    )
    expect(heard[0]?.changes.map(({ isSignedIn }) => isSignedIn)).toEqual(
      expected.map((reason) => /signed_in|refreshed/.test(reason)),
    )
    // Changes that are outdated when they arrive are skipped, but the last one is reported.
    expect(heard[1]?.changes.at(-1)).toMatchObject({
      reason: 'account_deleted',
      isSignedIn: false,
    })
    expect(heard[2]?.changes).toEqual([])
    for (const { stop } of heard) stop()
    const later: AuthChange[] = []
    there.client.onAuthChange((change) => later.push(change))
    await client.startAsGuest()
    await until(() => later.length > 0, 'the sign-in is not reported')
    expect(heard[0]?.changes).toHaveLength(expected.length)
  })

  test.each(INVALID_REPLIES)(
    'does not accept %s from an intermediary as a success',
    async (text) => {
      await using app = await open()
      const network = networkTo(app)
      const { client } = clientOf(app, { ...PLAIN, fetch: network.fetch })
      await client.register(LOGIN)
      network.interceptor = { reply: () => new Response(text) }
      const calls = [
        client.readProfile(),
        client.changeProfile({}),
        client.listAttachments(),
        client.readFaqs(),
        client.login(LOGIN),
        client.refresh(),
      ]
      const codes = await Promise.all(
        calls.map((call) =>
          call.then(
            () => 'ok',
            ({ code }) => code,
          ),
        ),
      )
      expect(codes).toEqual(calls.map(() => 'reply_invalid'))
      network.interceptor = {}
      expect((await client.readProfile()).email).toBe(LOGIN.email)
    },
  )
})

const FAILING_STORAGES: [string, Partial<Storage>, string][] = [
  ['cannot be read', { getItem: () => fail() }, 'storage_failed'],
  ['cannot be written', { setItem: async () => fail() }, 'storage_failed'],
  ['cannot be cleared', { removeItem: () => fail() }, 'storage_failed'],
]

test.each(FAILING_STORAGES)('a storage that %s causes an ApiError', async (_name, part, code) => {
  await using app = await createTestApp()
  const { client } = clientOf(app, { ...PLAIN, storage: { ...createMemoryStorage(), ...part } })
  const calls = [() => client.register(LOGIN), () => client.readProfile(), () => client.logout()]
  const outcomes = await Promise.all(
    calls.map(async (call) => call().then(String, (error) => error)),
  )
  const failures = outcomes.filter((outcome) => typeof outcome !== 'string')
  expect(failures.every((failure) => failure instanceof ApiError)).toBe(true)
  expect(failures.map((failure) => failure.code)).toContain(code)
})

test.each(['{', '"x"', '{}', '[]', '7', '{"accessToken":"x"}'])(
  'a storage that contains %s does not sign a user in',
  async (text) => {
    await using app = await createTestApp()
    const storage = { ...createMemoryStorage(), getItem: () => text }
    const { client } = clientOf(app, { ...PLAIN, storage })
    expect(await client.isSignedIn()).toBe(false)
    await expect(client.readProfile()).rejects.toMatchObject({ code: 'unauthenticated' })
  },
)

function fail(): never {
  throw new DOMException('The device is locked.', 'InvalidStateError')
}
