import { expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { createTestApp } from '../../support/app.ts'
import { fault } from '../../support/fault.ts'
import { clientOf, type Interceptor, plainReply, signedIn } from '../../support/network.ts'
import { until } from '../../support/until.ts'

const HOUR = 60 * 60 * 1000
const JWKS = '/.well-known/jwks.json'

test('a client with pinned keys seals for no other key', async () => {
  await using app = await createTestApp()
  const kid = app.services.encryptionKeys.list()[0]?.jwk.kid ?? ''
  const pinned = clientOf(app, { pinnedKeys: [kid] })
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const forgedKey = {
    ...publicKey.export({ format: 'jwk' }),
    use: 'enc',
    alg: 'ECDH-ES',
    kid,
  }
  const swap: Interceptor = {
    reply: (reply, { url }) => (url.includes(JWKS) ? plainReply({ keys: [forgedKey] }) : reply),
  }
  pinned.network.interceptor = swap
  const failure = await pinned.client.readAppSettings().catch((error) => error)
  expect(failure.code).toBe('no_trusted_key')
  pinned.network.interceptor = {}
  expect((await pinned.client.readAppSettings()).hardPaywall).toBeBoolean()

  await app.services.encryptionKeys.rotate(false)
  app.clock.advance(24 * HOUR + 1)
  expect((await pinned.client.readAppSettings()).hardPaywall).toBeBoolean()
  app.clock.advance(30 * 24 * HOUR)
  expect(await pinned.client.readAppSettings().catch((error) => error.code)).toBe('no_trusted_key')
})

test(`if its key is unknown, the client fetches the new one and seals again, but only once ${fault(124)}`, async () => {
  await using app = await createTestApp()
  const { client, network } = await signedIn(app)
  await app.services.encryptionKeys.rotate(true)
  network.seen.length = 0
  await client.changeProfile({ profile: { name: 'After' } })
  expect(network.seen).toEqual(['/api/user/profile/v1', JWKS, '/api/user/profile/v1'])
  network.interceptor = {
    request: async (request) => {
      if (!request.url.includes(JWKS)) await app.services.encryptionKeys.rotate(true)
      return request
    },
  }
  const failure = await client.readProfile().catch((error) => error)
  expect(failure).toMatchObject({ status: 400, code: 'encryption_unknown_key' })
})

test('concurrent calls use the old key while the keys cannot be read', async () => {
  await using app = await createTestApp()
  const { client, network } = await signedIn(app, { now: () => app.clock.now.getTime() })
  app.clock.advance(2 * HOUR)
  network.interceptor = {
    reply: async (reply, request) =>
      request.url.includes(JWKS) ? new Response('down', { status: 503 }) : reply,
  }
  await client.readProfile()
  const changes = await Promise.allSettled(
    ['a', 'b', 'c'].map((name) => client.changeProfile({ profile: { name } })),
  )
  expect(changes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
})

test(`a phone with a wrong clock learns the server's time ${fault(128)}`, async () => {
  await using app = await createTestApp()
  for (const error of [-5 * HOUR, 5 * HOUR]) {
    const now = () => app.clock.now.getTime() + error
    const { client, network } = await signedIn(app, { now })
    network.seen.length = 0
    expect((await client.readProfile()).loginType).toBe('email')
    expect(network.seen).toHaveLength(1)
  }
})

test(`no request fails if the clock jumps during a key rotation ${fault(128)}`, async () => {
  await using app = await createTestApp()
  let jump = 0
  const { client, network } = await signedIn(app, { now: () => app.clock.now.getTime() + jump })
  for (const hours of [-2, 3]) {
    jump += hours * HOUR
    await app.services.encryptionKeys.rotate(true)
    network.seen.length = 0
    expect((await client.readAppSettings()).hardPaywall).toBeBoolean()
    const name = `after ${hours}`
    expect((await client.changeProfile({ profile: { name } })).profile.name).toBe(name)
    expect(network.seen.filter((path) => path === JWKS)).toHaveLength(1)
  }
})

test(`ignores a server time from a slow response ${fault(128)}`, async () => {
  await using app = await createTestApp()
  const { client, network } = await signedIn(app)
  network.interceptor = {
    async reply(reply, { method, url }) {
      if (method === 'PATCH') return plainReply({ code: 'encryption_stale', message: '' }, 400)
      if (!url.includes('content_version')) return reply
      // The response takes five minutes.
      app.clock.advance(299_000)
      return reply
    },
  }
  await client.changeProfile({ profile: { name: 'x' } }).catch(() => {})
  network.interceptor = {}
  const sent: number[] = []
  network.interceptor = {
    request(request) {
      app.clock.advance(2_000)
      return request
    },
    reply(reply) {
      sent.push(reply.status)
      return reply
    },
  }
  await client.readProfile()
  expect(sent).toEqual([200])
})

test(`32 clients lose no operation during constant key rotation ${fault(132)}`, async () => {
  await using app = await createTestApp({ RATE_LIMITS: 'off' })
  const clients = await Promise.all(
    Array.from({ length: 32 }, async () => {
      const connection = clientOf(app)
      await connection.client.startAsGuest()
      return connection
    }),
  )
  const counts = clients.map(() => 0)
  let rotating = true
  const rotations = (async () => {
    for (let count = 0; count < 8; count++) {
      // A client reads new keys once per operation, so no operation may see two rotations. The first operation
      // to end after a rotation may have begun before it; the second knows the new key.
      const before = [...counts]
      const isEveryDone = () => counts.every((count, at) => count >= (before[at] ?? 0) + 2)
      await until(isEveryDone, 'a client has stopped')
      await app.services.encryptionKeys.rotate(true)
    }
    rotating = false
  })()
  let maxRequests = 0
  await Promise.all(
    clients.map(async ({ client, network }, at) => {
      for (let round = 0; rotating; round++) {
        const before = network.seen.length
        const name = `${at}-${round}`
        expect((await client.changeProfile({ profile: { name } })).profile.name).toBe(name)
        maxRequests = Math.max(maxRequests, network.seen.length - before)
        counts[at] = round + 1
      }
    }),
  )
  await rotations
  // A request, a download of the keys, and a retry.
  expect(maxRequests).toBe(3)
})
