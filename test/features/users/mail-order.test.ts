import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { startSmtp } from '../../support/smtp.ts'
import { until } from '../../support/until.ts'

/** The number of e-mails sent concurrently. */
const SENDERS = 4

test('a password reset does not wait for the e-mails from a flood of registrations', async () => {
  await using smtp = await startSmtp()
  await using app = await createMailApp(smtp.url)
  await app.register('ann@example.com')
  await app.services.outbox.flush()
  const { promise, resolve: release } = Promise.withResolvers<void>()
  smtp.state.held = promise
  for (let at = 0; at < 20; at++) await app.register(`flood${at}@example.com`)
  const json = { email: 'ann@example.com' }
  await app.ask('POST', '/api/auth/password/v1/forgot', { json })
  smtp.mails.length = 0
  await until(async () => (await app.services.outbox.count()) === 21, 'an e-mail is missing')
  release()
  await app.services.outbox.flush()
  const reset = smtp.mails.findIndex(({ to }) => to === 'ann@example.com')
  expect(smtp.mails).toHaveLength(21)
  expect(reset).toBeGreaterThanOrEqual(0)
  expect(reset).toBeLessThan(2 * SENDERS)
})

test('a backlog is sent over a few connections', async () => {
  await using smtp = await startSmtp()
  await using app = await createMailApp(smtp.url)
  smtp.state.failing = true
  for (let at = 0; at < 20; at++) await app.register(`p${at}@example.com`)
  await app.services.outbox.flush()
  const before = smtp.state.connections
  smtp.state.failing = false
  app.clock.advance(61_000)
  await app.services.outbox.flush()
  expect(smtp.mails).toHaveLength(20)
  expect(smtp.state.connections - before).toBeLessThanOrEqual(SENDERS)
})

test('sends resets before confirmations, and confirmations before notices', async () => {
  await using smtp = await startSmtp()
  await using app = await createMailApp(smtp.url)
  smtp.state.failing = true
  const json = { email: 'ann@example.com', password: 'correct horse battery' }
  await app.register(json.email, { device: 'first' })
  for (const device of ['second', 'third', 'fourth', 'fifth', 'sixth']) {
    await app.ask('POST', '/api/auth/login/v1', { json, headers: { device } })
  }
  for (let at = 0; at < 5; at++) await app.register(`p${at}@example.com`)
  await app.ask('POST', '/api/auth/password/v1/forgot', { json: { email: json.email } })
  await app.services.outbox.flush()
  smtp.state.failing = false
  app.clock.advance(61_000)
  await app.services.outbox.flush()
  const kinds = smtp.mails.map(({ subject }) => kindOf(subject))
  expect(kinds).toHaveLength(12)
  expect(kinds.indexOf('reset')).toBeLessThan(SENDERS)
  expect(kinds.indexOf('notice')).toBeGreaterThan(7 - SENDERS)
  expect(kinds.lastIndexOf('confirmation')).toBeLessThan(7 + SENDERS)
})

test('an e-mail from one source does not wait for all e-mails from another', async () => {
  await using app = await createTestApp()
  const { outbox, db } = app.services
  const sent: string[] = []
  const { promise: allAreBusy, resolve } = Promise.withResolvers<void>()
  outbox.deliverWith(async (message) => {
    sent.push((message as unknown as { source: string }).source)
    if (sent.length === SENDERS) resolve()
    await allAreBusy
  })
  await db.write(async (tx) => {
    for (const source of [...Array(30).fill('flood'), 'other', 'third']) {
      const handling = { priority: 1, userId: null, source }
      await outbox.add(tx, { kind: 'test', source } as never, handling)
    }
  })
  await outbox.flush()
  expect(sent).toHaveLength(32)
  expect(sent.slice(0, SENDERS).toSorted()).toEqual(['flood', 'flood', 'other', 'third'])
})

test('drops a permanently rejected e-mail and logs it once, without the address', async () => {
  await using smtp = await startSmtp()
  await using app = await createMailApp(smtp.url)
  const link = 'https://api.example.com/auth/verify?token=abc'
  const text = `5.1.1 <Ann.Canary@Example.com>: ann.canary at example.com unknown, see ${link} ${'x'.repeat(40)}`
  smtp.refusals.set('ann.canary', { code: 550, text })
  await app.register('ann.canary@example.com')
  await app.services.outbox.flush()
  expect(await app.services.outbox.count()).toBe(0)
  const lines = app.lines.filter((line) => line.includes('not delivered'))
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('"willRetry":false')
  expect(lines[0]).toContain('550 5.1.1 <[masked]>: [masked] at [masked] unknown, see [masked]')
  expect(app.lines.join('')).not.toMatch(/canary|example\.com|xxxx/i)
})

test.each([
  ['a recipient temporarily', 'ann', 451, ''],
  ['our sender permanently', 'no-reply', 550, ''],
  ['our sender as malformed', 'no-reply', 553, '5.1.3 '],
  ['our sender at the recipient', 'ann', 554, '5.7.1 '],
  ['everything above its daily limit', 'ann', 550, '5.4.5 '],
])('retries an e-mail when the server refuses %s', async (_what, mailbox, code, status) => {
  await using smtp = await startSmtp()
  await using app = await createMailApp(smtp.url)
  smtp.refusals.set(mailbox, { code, text: `${status}not from here to ann@example.com` })
  await app.register('ann@example.com')
  await app.services.outbox.flush()
  expect(app.lines.join('')).toContain('"willRetry":true')
  expect(app.lines.join('')).not.toContain('ann@example.com')
  expect(await app.services.outbox.count()).toBe(1)
})

function createMailApp(url: string): Promise<TestApp> {
  const baseUrl = { BASE_URL: 'https://api.example.com' }
  return createTestApp({ SMTP_URL: url, RATE_LIMITS: 'off', ...baseUrl })
}

function kindOf(subject: string): string {
  if (subject.includes('Choose a new password')) return 'reset'
  return subject.includes('Confirm') ? 'confirmation' : 'notice'
}
