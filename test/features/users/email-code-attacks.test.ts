import { describe, expect, test } from 'bun:test'
import { CODE_PATH, EMAIL, otherCode, startEmailCodes } from '../../support/email-codes.ts'

const MINUTE = 60_000
const FORGOT_PATH = '/api/auth/password/v1/forgot'

describe('floods are limited', () => {
  test('four requests for one address in an hour, but not its password resets', async () => {
    await using setup = await startEmailCodes()
    for (let at = 0; at < 3; at++) expect((await setup.request()).status).toBe(200)
    expect((await setup.request()).status).toBe(429)
    expect((await setup.request('unknown@example.com')).status).toBe(200)
    expect((await setup.app.ask('POST', FORGOT_PATH, { json: { email: EMAIL } })).status).toBe(200)
    setup.app.clock.advance(60 * MINUTE)
    expect((await setup.request()).status).toBe(200)
  })

  test('a code that was used does not count', async () => {
    await using setup = await startEmailCodes()
    for (let at = 0; at < 5; at++) {
      const { requestToken, code } = await setup.code()
      expect((await setup.verify(requestToken, code)).status).toBe(200)
    }
  })

  test('eleven requests for one address, at most three from each network', async () => {
    await using setup = await startEmailCodes()
    const { emailCodes } = setup.app.services.users
    const from = (ip: string) => ({ ip, device: { name: '' } })
    const requests = Array.from({ length: 11 }, (_, at) => `198.51.100.${Math.floor(at / 3)}`)
    for (const ip of requests.slice(0, 10)) await emailCodes.request(EMAIL, 'en', from(ip))
    expect(emailCodes.request(EMAIL, 'en', from('192.0.2.1'))).rejects.toThrow('Too many attempts')
  })

  test('requests from one network', async () => {
    await using setup = await startEmailCodes()
    const statuses = new Set<number>()
    for (let at = 0; at < 31; at++) statuses.add((await setup.request(`u${at}@example.com`)).status)
    expect([...statuses]).toEqual([200, 429])
  })

  test('more than twenty wrong codes for an address in a day', async () => {
    await using setup = await startEmailCodes({ TRUSTED_PROXIES: '0.0.0.0/0' })
    const statuses: number[] = []
    for (let hour = 0; hour < 5; hour++) {
      const { requestToken, code } = await setup.code()
      for (let at = 0; at < 5; at++)
        statuses.push((await setup.verify(requestToken, otherCode(code))).status)
      setup.app.clock.advance(60 * MINUTE)
    }
    expect(statuses).toEqual([...Array(20).fill(401), ...Array(5).fill(429)])
    const { requestToken, code } = await setup.code()
    expect((await setup.verify(requestToken, code)).status).toBe(429)
    setup.app.clock.advance(20 * 60 * MINUTE)
    const next = await setup.code()
    expect((await setup.verify(next.requestToken, next.code)).status).toBe(200)
  })
})

describe('a stranger learns nothing', () => {
  test('from the response, which is the same for unknown addresses', async () => {
    await using setup = await startEmailCodes()
    await setup.app.register(EMAIL)
    const known = await setup.request(EMAIL)
    const unknown = await setup.request('unknown@example.com')
    const shape = ({ status, json }: typeof known) => ({
      status,
      members: Object.keys(json.response),
      expiresIn: json.response.expiresIn,
      length: json.response.requestToken.length,
    })
    expect(shape(unknown)).toEqual(shape(known))
  })

  test('from the work before the response, which is the same for unknown addresses', async () => {
    await using setup = await startEmailCodes({ SIGN_UP: 'off' })
    setup.app.services.users.outbox.deliverWith(async () => {})
    const { db } = setup.app.services
    const rows = async () => [
      await db.read.$count(db.tables.oneTimeTokens),
      await db.read.$count(db.tables.limits),
    ]
    await setup.request('known@example.com')
    const before = await rows()
    await setup.request('unknown@example.com')
    const [tokens = 0, limits = 0] = before
    // The network's counter already exists.
    expect(await rows()).toEqual([tokens + 1, limits + 2])
  })

  test('from the log', async () => {
    await using setup = await startEmailCodes({ LOG_LEVEL: 'debug' })
    const { requestToken, code } = await setup.code()
    await setup.verify(requestToken, code)
    await setup.app.logged({ route: CODE_PATH })
    await setup.app.ask('GET', '/health')
    await setup.app.logged({ route: '/health' })
    const log = setup.app.lines.join('')
    expect(log).not.toContain(requestToken)
    expect(log).not.toContain(EMAIL)
    expect(log).not.toMatch(new RegExp(`\\b${code}\\b`))
  })

  test('from the database, which has neither the code nor the token', async () => {
    await using setup = await startEmailCodes()
    setup.smtp.state.failing = true
    const { json } = await setup.request()
    const { requestToken } = json.response
    const code = setup.app.services.users.emailCodes.deriveCode(requestToken)
    const { db } = setup.app.services
    const stored = JSON.stringify([
      await db.read.select().from(db.tables.oneTimeTokens),
      await db.read.select().from(db.tables.outbox),
    ])
    expect(stored).toContain(EMAIL)
    expect(stored).not.toContain(requestToken)
    expect(stored).not.toContain(code)
  })
})
