import { expect, test } from 'bun:test'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { rawRequest } from '../../support/raw-request.ts'
import { until } from '../../support/until.ts'

const PROXY = { TRUSTED_PROXIES: '127.0.0.1' }

test('a full queue does not release counted guesses', async () => {
  const slow = { memoryCost: 8_192, timeCost: 1 }
  await using app = await createTestApp(PROXY, { passwordCost: slow, passwordQueueLimit: 10 })
  await using server = serve(app)
  await app.register('ann@example.com')
  let verified = 0
  const guess = async () => {
    if ((await server.login('ann@example.com', 'a guess', '203.0.113.1')) === 401) verified++
  }
  for (let round = 0; round < 6; round++) {
    app.clock.advance(1_000)
    const flood = floodFrom(server, round)
    await Promise.all(Array.from({ length: 20 }, guess))
    expect(await flood).toContain(503)
    for (let at = 0; at < 6; at++) await guess()
  }
  expect(verified).toBeLessThanOrEqual(8)
})

test('one account at one address delays others by one turn', async () => {
  await using app = await createTestApp(PROXY)
  await using server = serve(app)
  for (const email of ['eve@example.com', 'ann@example.com']) await app.register(email)
  let served = 0
  const flood = Array.from({ length: 160 }, async () => {
    const status = await server.login('eve@example.com', PASSWORD, '203.0.113.66')
    served++
    return status
  })
  await until(() => served >= 5, 'no sign-in is served')
  const before = served
  expect(await server.login('ann@example.com', PASSWORD, '203.0.113.1')).toBe(200)
  expect(served - before).toBeLessThan(80)
  await Promise.all(flood)
}, 30_000)

test('serves 300 concurrent sign-ins', async () => {
  await using app = await createTestApp(PROXY)
  await using server = serve(app)
  await app.register('ann@example.com')
  const { users } = app.services.db.tables
  const [ann] = await app.services.db.read.select().from(users)
  if (!ann) throw new Error('ann is missing')
  const crowd = Array.from({ length: 300 }, (_, at) => `u${at}@example.com`)
  await app.services.db.write(async (tx) => {
    for (const email of crowd) {
      const id = crypto.randomUUID()
      await tx.insert(users).values({ ...ann, id, email, emailKey: email })
    }
  })
  const signIns = crowd.map((email, at) =>
    server.login(email, PASSWORD, `203.0.${at >> 8}.${at & 255}`),
  )
  const statuses = await Promise.all(signIns)
  expect(statuses.filter((status) => status !== 200)).toEqual([])
}, 60_000)

/** Sign-ins, each with its own account and address. */
function floodFrom(server: ReturnType<typeof serve>, round: number) {
  return Promise.all(
    Array.from({ length: 100 }, (_, at) =>
      server.login(`u${at}@example.com`, 'x', `10.${round}.${at >> 8}.${at & 255}`),
    ),
  )
}

/** The app behind a proxy that sets the client address. */
function serve(app: TestApp) {
  const server = app.app.listen({ port: 0, hostname: '127.0.0.1' }).server as Bun.Server<unknown>
  return {
    /** Uses its own connection, because `fetch` opens at most 256. */
    async login(email: string, password: string, from: string): Promise<number> {
      const body = JSON.stringify({ email, password })
      const head = [
        'POST /api/auth/login/v1 HTTP/1.1',
        'Host: localhost',
        'Content-Type: application/json',
        `X-Forwarded-For: ${from}`,
        // JSON allows the trailing line break.
        `Content-Length: ${body.length + 2}`,
      ]
      const reply = await rawRequest(server.port as number, `${head.join('\r\n')}\r\n\r\n${body}`)
      return Number(reply.slice(9, 12))
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
