import { expect, test } from 'bun:test'
import { createTestApp, PASSWORD } from '../../support/app.ts'
import { startSmtp } from '../../support/smtp.ts'

const EMAIL = 'ann@example.com'

const AGENTS = [
  ['curl', 'curl/8.14.1'],
  ['Node.js', 'node'],
  ['Bun', 'Bun/1.4.4'],
  ['Python', 'python-requests/2.32'],
  [
    'Chrome',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  ],
  ['Firefox', 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'],
  [
    'Safari',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
  ],
  ['ios', 'MyApp/1 CFNetwork/1568.200.51 Darwin/24.1.0'],
  ['ios', 'okhttp/4.12.0'],
  ['ios', ''],
]

test('names a session without a device header after its tool or browser, or else ios', async () => {
  await using app = await createTestApp({ RATE_LIMITS: 'off' })
  for (const [name, agent] of AGENTS) {
    const { accessToken: token } = await app.register(undefined, { 'user-agent': agent })
    const { json } = await app.ask('GET', '/api/auth/sessions/v1', { token })
    expect([agent, json.response[0].device]).toEqual([agent, name])
  }
})

test('the device header overrides the user agent', async () => {
  await using app = await createTestApp()
  const headers = { 'user-agent': 'curl/8', device: 'Pixel' }
  const { accessToken: token } = await app.register(EMAIL, headers)
  const { json } = await app.ask('GET', '/api/auth/sessions/v1', { token })
  expect(json.response[0].device).toBe('Pixel')
})

test('reports a new device once, in an e-mail with its exact name', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ SMTP_URL: smtp.url, BASE_URL: 'https://api.example.com' })
  await app.register(EMAIL)
  await smtp.next(EMAIL)
  await app.verifyEmail(EMAIL)
  const names = [`${'a'.repeat(199)}😀 and more`, "A$'B $& $`", 'Zoë’s 100 %', 'plain %zz']
  for (const name of names) {
    for (const _again of [1, 2, 3]) {
      const headers = { device: encodeURIComponent(name) }
      const json = { email: EMAIL, password: PASSWORD }
      expect((await app.ask('POST', '/api/auth/login/v1', { json, headers })).status).toBe(200)
    }
    const { text } = await smtp.next(EMAIL)
    expect(text).toContain([...name].slice(0, 200).join(''))
    expect(text.match(/change your password/g)?.length).toBeLessThanOrEqual(2)
  }
})

test('remembers the 20 devices on which a user signed in most recently', async () => {
  await using app = await createTestApp({ RATE_LIMITS: 'off' })
  const { user } = await app.register(EMAIL, { device: 'first' })
  const { db, users } = app.services
  const { knownDevices } = db.tables
  // Earlier versions stored any number of devices.
  await db.write(async (tx) => {
    for (let at = 0; at < 400; at++) {
      const seenAt = new Date(app.clock.now.getTime() - 1_000_000 + at)
      await tx.insert(knownDevices).values({ userId: user._id, device: `old ${at}`, seenAt })
    }
  })
  const signIn = async (device: string) => {
    app.clock.advance(1_000)
    const json = { email: EMAIL, password: PASSWORD }
    await app.ask('POST', '/api/auth/login/v1', { json, headers: { device } })
    return (await users.devices.listKnown(user._id)).map(({ device }) => device).toSorted()
  }
  const old = Array.from({ length: 400 }, (_, at) => `old ${at}`)
  expect(await signIn('second')).toEqual([...old.slice(-18), 'first', 'second'].toSorted())
  expect(await signIn('first')).toEqual([...old.slice(-18), 'first', 'second'].toSorted())
  expect(await signIn('third')).toEqual([...old.slice(-17), 'first', 'second', 'third'].toSorted())
})
