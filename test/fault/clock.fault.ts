import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { TOTP } from 'totp-generator'
import { PASSWORD } from '../support/app.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { FAKETIME, fakeClock } from '../support/fake-clock.ts'
import { fault } from '../support/fault.ts'
import { createSealer, readKeyForPayloads } from '../support/messages.ts'
import { deliver, register, requesterFor, signIn } from '../support/requests.ts'

const withFaketime = test.skipIf(FAKETIME === null)
const PROFILE = '/api/user/profile/v1'
const TOTP_STEP_MS = 30_000
const DAY = 24 * 60 * 60 * 1000

beforeAll(buildExecutable, 300_000)

withFaketime(
  `after clock jumps of days and decades, tokens follow the clock, nothing fails, and jobs run once ${fault(34)}`,
  async () => {
    await using homeport = await installExecutable()
    await using clock = fakeClock(homeport.folder)
    const server = await homeport.start(clock.environment)
    const ask = requesterFor(server)
    const { accessToken, refreshToken } = await register(server, 'ann@example.com')
    const readProfile = async () => {
      const headers = { authorization: `Bearer ${accessToken}` }
      return (await ask('GET', PROFILE, { headers })).status
    }
    for (const [jump, status] of [
      ['+0', 200],
      ['+1d', 401],
      // A token issued after the current time is accepted.
      ['-1d', 200],
      ['+0', 200],
      ['+20y', 401],
      ['+0', 200],
    ] as const) {
      await clock.set(jump)
      expect([jump, await readProfile()]).toEqual([jump, status])
      expect((await signIn(server, 'ann@example.com')).status).toBe(200)
      expect((await deliver(server, `E${jump}`)).status).toBe(200)
      expect((await ask('GET', '/ready')).status).toBe(200)
    }
    const renewed = await ask('POST', '/api/auth/refresh/v1', {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ refreshToken }),
    })
    expect(renewed.status).toBe(200)
    expect(await server.stop()).toBe(0)
    const log = await Bun.file(join(homeport.folder, 'log')).text()
    expect(log).not.toContain('"level":"error"')
    expect(log.split('\n').length).toBeLessThan(100)
  },
  30_000,
)

withFaketime(
  `used codes and messages stay refused when the clock is set back ${fault(35)}`,
  async () => {
    await using homeport = await installExecutable()
    await using clock = fakeClock(homeport.folder)
    const server = await homeport.start({ ...clock.environment, RATE_LIMITS: 'off' })
    const { accessToken } = await register(server, 'ann@example.com')
    const ask = async (path: string, body: unknown) => {
      const headers = {
        authorization: `Bearer ${accessToken}`,
        'content-type': 'application/json',
      }
      return requesterFor(server)('POST', path, { headers, body: JSON.stringify(body) })
    }
    // Sealed messages first: setting up two-factor ends the session of the token.
    const { patchName } = createSealer(await readKeyForPayloads(server.url), () => new Date())
    const message = patchName(accessToken, 'Ann')
    const patch = async () => {
      const headers = { 'content-type': 'application/jose', env: 'production' }
      return (await fetch(server.url + PROFILE, { method: 'PATCH', headers, body: message })).status
    }
    expect(await patch()).toBe(200)
    await clock.set('-60')
    expect(await patch()).toBe(409)
    await clock.set('+0')

    const { secret } = (await ask('/api/auth/two_factor/v1', { password: PASSWORD })).body.response
    const codeAt = async (timestamp: number) => (await TOTP.generate(secret, { timestamp })).otp
    const code = await codeAt(Date.now())
    await ask('/api/auth/two_factor/v1/confirm', { code })
    const submitCode = async (used: string) => {
      const reply = await (await signIn(server, 'ann@example.com')).json()
      const { challengeToken } = (reply as { response: { challengeToken: string } }).response
      return (await ask('/api/auth/login/v1/two_factor', { challengeToken, code: used })).status
    }
    const next = await codeAt(Date.now() + TOTP_STEP_MS)
    expect(await submitCode(next)).toBe(200)
    await clock.set('-60')
    for (const used of [code, next]) expect(await submitCode(used)).toBe(401)
    expect(await server.stop()).toBe(0)
  },
  30_000,
)

withFaketime(
  'two starts with the clock 120 days ahead do not delete a guest',
  async () => {
    await using homeport = await installExecutable()
    await using clock = fakeClock(homeport.folder)
    const first = await homeport.start(clock.environment)
    const guest = await requesterFor(first)('POST', '/api/auth/guest/v1')
    await waitForSample()
    expect(await first.stop()).toBe(0)
    // Shortly before the job that deletes guests idle for 90 days.
    const night = new Date(Date.now() + 120 * DAY)
    for (const _start of [1, 2]) {
      night.setUTCHours(3, 39, 40)
      await clock.set(`+${Math.round((night.getTime() - Date.now()) / 1000)}`)
      const server = await homeport.start(clock.environment)
      await Bun.sleep(40_000)
      expect(await server.stop()).toBe(0)
      const log = await Bun.file(join(homeport.folder, 'log')).text()
      expect(log).toContain('ahead of the last recorded time')
    }
    await clock.set('+0')
    const server = await homeport.start(clock.environment)
    const headers = { authorization: `Bearer ${guest.body.response.accessToken}` }
    expect((await requesterFor(server)('GET', PROFILE, { headers })).status).toBe(200)
    expect(await server.stop()).toBe(0)
  },
  300_000,
)

/** A sample is written at the end of each minute. */
async function waitForSample() {
  await Bun.sleep(60_000 - (Date.now() % 60_000) + 3_000)
}

withFaketime(
  'after a jump of a year, the nightly backup is written within a minute, and no guest is deleted',
  async () => {
    await using homeport = await installExecutable()
    await using clock = fakeClock(homeport.folder)
    const now = new Date()
    // Twelve hours away, unless the clock jumps.
    const schedule = `${now.getUTCMinutes()} ${(now.getUTCHours() + 12) % 24} * * *`
    const server = await homeport.start({ ...clock.environment, BACKUP_SCHEDULE: schedule })
    const guest = await requesterFor(server)('POST', '/api/auth/guest/v1')
    await clock.set('+1y')
    await homeport.waitForLogLine('a backup was written', 90_000)
    await clock.set('+0')
    const headers = { authorization: `Bearer ${guest.body.response.accessToken}` }
    expect((await requesterFor(server)('GET', PROFILE, { headers })).status).toBe(200)
    expect(await server.stop()).toBe(0)
    const log = await Bun.file(join(homeport.folder, 'log')).text()
    expect(log).toContain('the clock jumped')
  },
  120_000,
)
