import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { fault } from '../../support/fault.ts'
import { clientOf, type Interceptor, plainReply, signedIn } from '../../support/network.ts'

const HOUR = 60 * 60 * 1000

test(`the client refuses responses that were not sealed for its request ${fault(129)}`, async () => {
  await using app = await createTestApp()
  const { client, network } = await signedIn(app)
  const other = await signedIn(app)
  const earlier: Response[] = []
  network.interceptor = {
    reply(reply) {
      earlier.push(copyOf(reply))
      return reply
    },
  }
  other.network.interceptor = network.interceptor
  await client.readProfile()
  await other.client.readProfile()
  const [ownReply, foreignReply] = earlier as [Response, Response]
  const forgeries: [string, string, NonNullable<Interceptor['reply']>][] = [
    ['reply_invalid', 'an earlier response to this client', () => copyOf(ownReply)],
    ['reply_invalid', 'a response to another client', () => copyOf(foreignReply)],
    [
      'reply_invalid',
      'another status',
      (reply) => new Response(reply.body, { ...initOf(reply), status: 201 }),
    ],
    [
      'reply_invalid',
      'a truncated reply',
      async (reply) => new Response((await reply.text()).slice(0, -40), initOf(reply)),
    ],
    [
      'reply_invalid',
      'a modified reply',
      async (reply) => new Response(changeCharacter(await reply.text()), initOf(reply)),
    ],
    ['reply_invalid', 'an empty reply', (reply) => new Response('', initOf(reply))],
    ['reply_invalid', 'no algorithm', (reply) => new Response(unsecuredMessage(), initOf(reply))],
    ['reply_not_sealed', 'a plain reply', () => plainReply({ code: 'ok', response: {} })],
    ['reply_not_sealed', 'an empty plain reply', () => new Response(null, { status: 204 })],
  ]
  for (const [code, name, reply] of forgeries) {
    network.interceptor = { reply }
    const outcome = await client.readProfile().catch((error) => error)
    expect([name, outcome.code]).toEqual([name, code])
  }
  network.interceptor = {}
  expect((await client.readProfile()).loginType).toBe('email')
})

test(`a plain response from an attacker on the network does not sign the user out ${fault(127)}`, async () => {
  await using app = await createTestApp()
  const { client, network, signedOut } = await signedIn(app)
  const lie = { code: 'unauthenticated', message: 'Signed out.', requestId: 'x' }
  network.interceptor = { reply: () => plainReply(lie, 401) }
  const failure = await client.readProfile().catch((error) => error)
  expect(failure).toMatchObject({ code: 'unauthenticated', isGenuine: false })
  app.clock.advance(16 * 60_000)
  await client.readProfile().catch(() => {})
  network.interceptor = {}
  expect((await client.readProfile()).loginType).toBe('email')
  expect(signedOut.times).toBe(0)
})

test(`a forged response does not make the client repeat a request that was carried out ${fault(127)}`, async () => {
  await using app = await createTestApp()
  const { client, network } = await signedIn(app)
  const lies: [code: string, message: string, hours: number][] = [
    ['encryption_unknown_key', 'Another key.', 0],
    ['encryption_stale', 'Just now it is', 0],
    ['encryption_stale', 'The time is', 1],
    ['encryption_stale', 'The time is', -1],
    ['encryption_stale', 'The time is unknown.', 0],
    ['token_expired', 'Expired.', 0],
    ['unauthenticated', 'Signed out.', 0],
    ['unavailable', 'Later.', 0],
  ]
  for (const rotates of [false, true]) {
    for (const [code, text, hours] of lies) {
      const time = new Date(app.clock.now.getTime() + hours * HOUR).toISOString()
      const lie = { code, message: `${text} ${time}`, requestId: 'x' }
      let executions = 0
      network.interceptor = {
        async reply(reply, { method }) {
          if (method !== 'PATCH') return reply
          if (reply.status === 200) executions++
          if (rotates) await app.services.encryptionKeys.rotate(false).catch(() => {})
          return plainReply(lie, 400)
        },
      }
      const failure = await client.changeProfile({ profile: { name: code } }).catch((e) => e)
      expect(failure.name).toBe('ApiError')
      expect([code, text, executions]).toEqual([code, text, 1])
    }
    network.interceptor = {}
    app.clock.advance(25 * HOUR)
  }
  expect((await client.readProfile()).loginType).toBe('email')
})

const CHANGED_ENVS = [null, '', 'test', 'production, test']

test.each(CHANGED_ENVS)(
  `an env header changed to %p is detected, and the request is not carried out ${fault(127)}`,
  async (env) => {
    await using app = await createTestApp()
    const { client, network } = await signedIn(app)
    network.interceptor = {
      request(request) {
        const { url, method, body } = request
        const headers = new Headers(request.headers)
        if (env === null) headers.delete('env')
        else headers.set('env', env)
        return new Request(url, { method, headers, body })
      },
    }
    // Without a token the request is not refused, so the client must detect the plain response.
    const isPlain = env === null || env === '' || env === 'test'
    const outcome = await client.readAppSettings().catch((error) => error)
    expect(outcome.code).toBe(isPlain ? 'reply_not_sealed' : 'malformed_request')
    const change = await client.changeProfile({ profile: { name: 'stripped' } }).catch((e) => e)
    expect(change.name).toBe('ApiError')
    network.interceptor = {}
    expect((await client.readProfile()).profile.name).toBe('')
  },
)

test(`neither sealed content nor tokens appear on the wire ${fault(133)}`, async () => {
  await using app = await createTestApp()
  const { client, network } = clientOf(app)
  const wire: string[] = []
  network.interceptor = {
    async request(request) {
      const copy = request.clone()
      wire.push(copy.url, JSON.stringify([...copy.headers]), await copy.text())
      return request
    },
    async reply(reply) {
      const copy = reply.clone()
      wire.push(JSON.stringify([...copy.headers]), await copy.text())
      return reply
    },
  }
  const login = { email: 'canary@example.com', password: 'canary-password' }
  const registered = await client.register(login)
  if (!('accessToken' in registered)) throw new Error('no session')
  await client.changeProfile({ profile: { name: 'canary-name' } })
  const data = new TextEncoder().encode('canary-content')
  await client.uploadAttachments({ type: 'supportTicket', files: [{ name: 'canary.txt', data }] })
  await client.exportData()
  await client.login({ email: 'canary@example.com', password: 'canary-wrong' }).catch(() => {})
  await client.refresh()
  await app.logged({ route: '/api/auth/refresh/v1' })
  const { accessToken, refreshToken } = registered
  for (const text of [wire.join('\n'), app.lines.join('')]) {
    expect(text.length).toBeGreaterThan(1_000)
    for (const secret of ['canary', accessToken, refreshToken, btoa('canary').slice(0, 7)]) {
      expect([secret, text.includes(secret)]).toEqual([secret, false])
    }
  }
})

function copyOf(reply: Response): Response {
  return reply.clone() as unknown as Response
}

function initOf({ status, headers }: Response) {
  return { status, headers }
}

function changeCharacter(message: string): string {
  const at = message.length - 30
  return message.slice(0, at) + (message.at(at) === 'A' ? 'B' : 'A') + message.slice(at + 1)
}

function unsecuredMessage(): string {
  const header = Buffer.from('{"alg":"none"}').toString('base64url')
  return `${header}..AAAAAAAAAAAAAAAA.AAAA.AAAAAAAAAAAAAAAAAAAAAA`
}
