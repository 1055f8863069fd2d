import { expect, test } from 'bun:test'
import { createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { FeaturesDeps } from '../../../src/server/features.ts'
import { createTestApp } from '../../support/app.ts'
import { selfSigned } from '../../support/certificates.ts'
import { fault } from '../../support/fault.ts'
import { startReceiver } from '../../support/receiver.ts'
import { simulateDelay, until } from '../../support/until.ts'
import { emit, sampleEvents, verifyMessage } from './support/events.ts'

type Sending = NonNullable<FeaturesDeps['webhookSending']>

const HOUR = 3_600_000
const NAME = 'hooks.example.com'
const resolve = async () => ['127.0.0.1']

test(`verifies the certificate of the name at the checked address ${fault(147)}`, async () => {
  const certificate = await selfSigned(NAME)
  const other = await selfSigned('other.example.com')
  await using good = serveTls(certificate)
  await using wrong = serveTls(other)
  const tls = { resolve, ca: `${certificate.cert}\n${other.cert}` }
  expect(await attemptAt(`https://${NAME}:${good.port}/a?b=c`, tls)).toMatchObject({
    status: 200,
    fault: null,
    reply: `${NAME}:${good.port} identity`,
  })
  expect((await attemptAt(`https://${NAME}:${wrong.port}/`, tls)).fault).toBe(
    `The certificate is not valid for ${NAME}:${wrong.port} (ERR_TLS_CERT_ALTNAME_INVALID).`,
  )
  expect((await attemptAt(`https://${NAME}:${good.port}/`, { resolve })).fault).toStartWith(
    `The certificate is not valid for ${NAME}:${good.port}`,
  )
})

test.each([301, 302, 303, 307, 308])(
  `does not follow a redirect with %d ${fault(147)}`,
  async (status) => {
    using target = startReceiver()
    using receiver = startReceiver(() => Response.redirect(target.url, status))
    const { fault } = await attemptAt(receiver.url)
    expect(fault).toBe(`The endpoint returned ${status}. Redirects are not followed.`)
    expect([receiver.received.length, target.received.length]).toEqual([1, 0])
  },
)

test('does not use the proxy from the environment, which would resolve the name again', async () => {
  using receiver = startReceiver()
  using proxy = startReceiver()
  const { port } = new URL(receiver.url)
  process.env['HTTP_PROXY'] = proxy.url
  try {
    expect((await attemptAt(`http://${NAME}:${port}/`, { resolve })).fault).toBeNull()
  } finally {
    delete process.env['HTTP_PROXY']
  }
  expect([receiver.received.length, proxy.received.length]).toEqual([1, 0])
})

test('tries the next address when the first one refuses the connection', async () => {
  using receiver = startReceiver()
  const { port } = new URL(receiver.url)
  const both = async () => ['127.0.0.2', '127.0.0.1']
  expect((await attemptAt(`http://${NAME}:${port}/`, { resolve: both })).fault).toBeNull()
  const neither = async () => ['127.0.0.2']
  const { fault } = await attemptAt(`http://${NAME}:${port}/`, { resolve: neither })
  expect(fault).toBe(`Could not connect to ${NAME}:${port} (ECONNREFUSED).`)
})

test('says when a name cannot be resolved', async () => {
  const fails = async () => {
    throw new Error('ENOTFOUND')
  }
  const unknown = await attemptAt(`https://${NAME}/`, { resolve: fails })
  expect(unknown).toMatchObject({ status: null, fault: `${NAME} could not be resolved.` })
  const { fault } = await attemptAt(`https://${NAME}/`, { resolve: async () => [] })
  expect(fault).toBe(`${NAME} has no address.`)
})

test('the time limit of an attempt includes the name lookup', async () => {
  const names = [Promise.resolve(['127.0.0.1'])]
  const slow = () => names.shift() ?? new Promise<string[]>(() => {})
  const { fault, duration } = await attemptAt(`https://${NAME}/`, { resolve: slow, timeoutMs: 200 })
  expect(fault).toBe('No complete response within 0.2 seconds.')
  expect(duration).toBeWithin(150, 10_000)
})

const SLOW: [name: string, bytes: string, status: number | null][] = [
  ['no reply', '', null],
  ['slow headers', 'HTTP/1.1 200 OK\r\nx-a: 1\r\n', null],
  ['a slow body', 'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nabc', 200],
]

test.each(SLOW)(`gives up on %s ${fault(148)}`, async (_name, beginning, status) => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write(beginning)
    // Every byte would restart a timeout that only counts silence.
    const timer = setInterval(() => socket.write(beginning === '' ? '' : 'x'), 20)
    socket.on('close', () => clearInterval(timer))
  })
  const listening = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', listening.resolve)
  await listening.promise
  const { port } = server.address() as { port: number }
  const result = await attemptAt(`http://127.0.0.1:${port}/`, { timeoutMs: 300 })
  expect(result).toMatchObject({ status, fault: 'No complete response within 0.3 seconds.' })
  expect(result.duration).toBeWithin(250, 10_000)
  server.close()
})

test(`reads 64 KiB of a response and cancels the rest ${fault(148)}`, async () => {
  let isCancelled = false
  const chunk = new TextEncoder().encode('é'.repeat(8_000))
  const endless = () =>
    new ReadableStream({
      async pull(controller) {
        await simulateDelay(1)
        controller.enqueue(chunk)
      },
      cancel() {
        isCancelled = true
      },
    })
  using receiver = startReceiver(() => new Response(endless()))
  const { fault, reply, duration } = await attemptAt(receiver.url)
  expect([fault, Buffer.byteLength(reply)]).toEqual([null, 64 * 1024])
  expect(duration).toBeLessThan(5_000)
  await until(() => isCancelled, 'the rest of the response is read')
})

test(`does not inflate a compressed response ${fault(148)}`, async () => {
  const bomb = gzipSync(Buffer.alloc(50_000_000))
  const headers = { 'content-encoding': 'gzip' }
  using receiver = startReceiver(() => new Response(bomb, { headers }))
  const { reply } = await attemptAt(receiver.url)
  // The first bytes of gzip.
  expect(reply).toStartWith('\u001f\uFFFD\b')
  expect(receiver.received[0]?.headers['accept-encoding']).toBe('identity')
})

test('stores a response with any bytes', async () => {
  const bytes = new Uint8Array([65, 0, 255, 0xc3, 66])
  using receiver = startReceiver(() => new Response(bytes))
  expect((await attemptAt(receiver.url)).reply).toBe('A\uFFFD\uFFFD\uFFFDB')
})

test.each([
  [200, 500],
  [500, 4_000],
])('a long response with status %i is stored up to %i characters', async (status, length) => {
  using receiver = startReceiver(() => new Response('x'.repeat(10_000), { status }))
  await using app = await createTestApp({ WEBHOOKS_ALLOW_PRIVATE: 'on' })
  const { webhooks, db } = app.services
  await webhooks.endpoints.add({ url: receiver.url, events: ['all'] })
  await emit(app, ...sampleEvents('u1').slice(0, 1))
  await webhooks.flush()
  const [attempt] = await db.read.select().from(db.tables.webhookAttempts)
  expect(attempt?.reply).toHaveLength(length)
})

test('410 Gone disables the endpoint and ends the retries', async () => {
  using receiver = startReceiver(() => new Response(null, { status: 410 }))
  await using app = await createTestApp({ WEBHOOKS_ALLOW_PRIVATE: 'on' })
  const { webhooks } = app.services
  const { endpoint } = await webhooks.endpoints.add({ url: receiver.url, events: ['all'] })
  await emit(app, ...sampleEvents('u1').slice(0, 1))
  await webhooks.flush()
  expect(await webhooks.endpoints.find(endpoint.id)).toMatchObject({
    disabledAt: app.clock.now.toISOString(),
    disabledReason: 'gone',
  })
  const [delivery] = (await webhooks.deliveries.list({})).deliveries
  expect(delivery).toMatchObject({ state: 'failed', attempts: 1, nextAttemptAt: null })
  // An operator who disables it as well acknowledges the failure.
  const disabled = await webhooks.endpoints.disable(endpoint.id)
  expect(disabled).toMatchObject({ disabledReason: 'operator' })
  expect(await webhooks.health.listFailed()).toEqual([])
})

const RETRY_AFTER: [header: string, seconds: number][] = [
  ['60', 60],
  ['1', 5],
  ['86400', 3_600],
  ['soon', 5],
  ['-5', 5],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 5],
]

test.each(RETRY_AFTER)('after Retry-After: %s, waits %d seconds', async (header, seconds) => {
  const reply = () => new Response(null, { status: 429, headers: { 'retry-after': header } })
  using receiver = startReceiver(reply)
  await using app = await createTestApp(
    { WEBHOOKS_ALLOW_PRIVATE: 'on' },
    { webhookSending: { random: () => 0 } },
  )
  const { webhooks } = app.services
  await webhooks.endpoints.add({ url: receiver.url, events: ['all'] })
  await emit(app, ...sampleEvents('u1').slice(0, 1))
  await webhooks.flush()
  const [delivery] = (await webhooks.deliveries.list({})).deliveries
  const due = Date.parse(delivery?.nextAttemptAt ?? '') - app.clock.now.getTime()
  expect(due / 1000).toBe(seconds)
})

test('says when the secret cannot be read, until it is rotated', async () => {
  using receiver = startReceiver()
  await using app = await createTestApp({ WEBHOOKS_ALLOW_PRIVATE: 'on' })
  const { webhooks, db } = app.services
  const { endpoint } = await webhooks.endpoints.add({ url: receiver.url, events: ['all'] })
  await db.write(async (tx) => {
    await tx.update(db.tables.webhookEndpoints).set({ secret: 'sealed with a lost key' })
  })
  const { fault } = await webhooks.test(endpoint.id)
  expect(fault).toBe('The signing secret cannot be read. Rotate the secret.')
  expect(receiver.received).toHaveLength(0)
  const { secret } = await webhooks.endpoints.rotate(endpoint.id)
  expect((await webhooks.test(endpoint.id)).fault).toBeNull()
  verifyMessage(receiver.received[0] as never, secret)
})

test('the log contains neither bodies nor secrets nor paths', async () => {
  using receiver = startReceiver(() => new Response('reply-text', { status: 500 }))
  await using app = await createTestApp({ WEBHOOKS_ALLOW_PRIVATE: 'on', LOG_LEVEL: 'debug' })
  const { webhooks } = app.services
  const url = `${receiver.url}/secret-path`
  const { secret } = await webhooks.endpoints.add({ url, events: ['all'] })
  await emit(app, ...sampleEvents('u1'))
  await webhooks.flush()
  app.clock.advance(HOUR)
  await webhooks.flush()
  const log = app.lines.join('')
  expect(log).toContain('a webhook attempt failed')
  for (const text of [secret, 'zoë@example.com', 'reply-text', 'secret-path', 'trial has begun'])
    expect(log).not.toContain(text)
})

/** The result of a test message to `url`, with private addresses allowed. */
async function attemptAt(url: string, webhookSending: Sending = {}) {
  await using app = await createTestApp({ WEBHOOKS_ALLOW_PRIVATE: 'on' }, { webhookSending })
  const { webhooks } = app.services
  const { endpoint } = await webhooks.endpoints.add({ url, events: ['all'] })
  return await webhooks.test(endpoint.id)
}

function serveTls({ cert, key }: { cert: string; key: string }) {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    tls: { cert, key },
    fetch: ({ headers }) =>
      new Response(`${headers.get('host')} ${headers.get('accept-encoding')}`),
  })
  return { port: server.port, [Symbol.asyncDispose]: () => server.stop(true) }
}
