import { describe, expect, test } from 'bun:test'
import type { Credentials, UploadInput } from '../../src/client/client.ts'
import { createTestApp, PASSWORD } from '../support/app.ts'
import { BACKENDS } from '../support/backends.ts'
import { clientOf, plainReply, signedIn } from '../support/network.ts'

const LOGIN = { email: 'ann@example.com', password: PASSWORD }
const PLAIN = { env: 'test' }

describe.each(BACKENDS)('$name:', ({ open }) => {
  test.each([200, 401, 409, 429, 503])(
    'logout succeeds on the device even if an intermediary returns %d',
    async (status) => {
      await using app = await open()
      const { client, network } = clientOf(app, PLAIN)
      await client.register(LOGIN)
      app.clock.advance(16 * 60_000)
      network.interceptor = { reply: () => new Response('<html>', { status }) }
      network.seen.length = 0
      expect(await client.logout()).toEqual({ message: 'Signed out on this device.' })
      // A refused token is refreshed once.
      expect([await client.isSignedIn(), network.seen.length <= 2]).toEqual([false, true])
    },
  )

  test('logout with an expired access token ends the session on the server', async () => {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    await client.register(LOGIN)
    app.clock.advance(16 * 60_000)
    await client.logout()
    const { client: other } = clientOf(app, PLAIN)
    await other.login(LOGIN)
    expect(await other.listSessions()).toHaveLength(1)
  })

  test('repeating a deletion whose response was lost succeeds', async () => {
    await using app = await open()
    const { client, network } = clientOf(app, PLAIN)
    await client.register(LOGIN)
    network.interceptor = {
      reply() {
        throw new TypeError('connection lost')
      },
    }
    await expect(client.deleteProfile()).rejects.toMatchObject({ code: 'network_error' })
    network.interceptor = {}
    expect((await client.deleteProfile()).message).toMatch(/account .* deleted/)
    expect(await client.isSignedIn()).toBe(false)
  })

  test.each([
    ['-5', null],
    ['1.5', 2],
    ['7', 7],
    ['soon', null],
  ])('parses Retry-After: %s as %j', async (header, retryAfter) => {
    await using app = await open()
    const { client, network } = await signedIn(app, PLAIN)
    network.interceptor = {
      reply() {
        const reply = plainReply({ code: 'rate_limited', message: 'Later.' }, 429)
        reply.headers.set('retry-after', header)
        return reply
      },
    }
    await expect(client.readProfile()).rejects.toMatchObject({ code: 'rate_limited', retryAfter })
  })
})

describe('timeout', () => {
  test('Infinity sets no time limit', async () => {
    await using app = await createTestApp()
    const { client } = clientOf(app, { ...PLAIN, timeout: Number.POSITIVE_INFINITY })
    expect((await client.startAsGuest()).tokenType).toBe('Bearer')
  })

  test.each([0, -1, Number.NaN])('%d is refused', async (timeout) => {
    await using app = await createTestApp()
    const { client } = clientOf(app, PLAIN)
    await expect(client.readFaqs({}, { timeout })).rejects.toThrow(/timeout must be/)
  })
})

test('a missing argument rejects with a TypeError', async () => {
  await using app = await createTestApp()
  const { client } = await signedIn(app, PLAIN)
  const nothing = undefined as unknown as Credentials
  const data = new Uint8Array(1)
  const calls = [
    () => client.login(nothing),
    () => client.passTwoFactor(nothing as never),
    () => client.changeProfile(nothing as never),
    () => client.uploadAttachments({} as UploadInput),
    () => client.uploadAttachments(nothing as never),
    () => client.uploadAttachments({ type: 'supportTicket', files: [{ data }] } as never),
  ]
  for (const call of calls) {
    const result = call()
    await expect(result).rejects.toBeInstanceOf(TypeError)
  }
})

test('an oversized sealed upload is refused with the limit in MiB', async () => {
  await using app = await createTestApp()
  const { client } = await signedIn(app)
  const files = [{ name: 'a.txt', type: 'text/plain', data: new Uint8Array(18 * 2 ** 20) }]
  await expect(client.uploadAttachments({ type: 'supportTicket', files })).rejects.toMatchObject({
    code: 'payload_too_large',
    message: 'A sealed upload must not exceed 16 MiB in total.',
  })
})
