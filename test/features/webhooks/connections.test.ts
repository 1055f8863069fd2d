import { afterAll, expect, test } from 'bun:test'
import { createConnection, createServer, type Socket } from 'node:net'
import { createTestApp } from '../../support/app.ts'
import { startReceiver } from '../../support/receiver.ts'
import { simulateDelay } from '../../support/until.ts'
import { emit, sampleEvents } from './support/events.ts'

const ALLOW_PRIVATE = { WEBHOOKS_ALLOW_PRIVATE: 'on' }
const HOST = 'hooks.example.com'
const openSockets: Socket[] = []
afterAll(() => {
  for (const socket of openSockets) socket.destroy()
})

test('tries the next address when the first one does not respond', async () => {
  using receiver = startReceiver()
  const port = Number(new URL(receiver.url).port)
  await using _silent = await startSilentReceiver('127.0.0.2', port)
  const resolve = async () => ['127.0.0.2', '127.0.0.1']
  await using app = await createTestApp(ALLOW_PRIVATE, {
    webhookSending: { resolve, timeoutMs: 5_000 },
  })
  const { webhooks } = app.services
  const url = `http://${HOST}:${port}/`
  const { endpoint } = await webhooks.endpoints.add({ url, events: ['all'] })
  const { fault, duration } = await webhooks.test(endpoint.id)
  expect(fault).toBeNull()
  expect(duration).toBeWithin(200, 4_000)
  // The address that has responded is tried first.
  expect((await webhooks.test(endpoint.id)).duration).toBeLessThan(200)
})

test('times out if none of the host’s addresses responds', async () => {
  const [first, second] = ['127.0.0.3', '127.0.0.4']
  await using silent = await startSilentReceiver(first)
  await using _other = await startSilentReceiver(second, silent.port)
  const resolve = async () => [first, second]
  await using app = await createTestApp(ALLOW_PRIVATE, {
    webhookSending: { resolve, timeoutMs: 700 },
  })
  const { webhooks } = app.services
  const url = `http://${HOST}:${silent.port}/`
  const { endpoint } = await webhooks.endpoints.add({ url, events: ['all'] })
  expect((await webhooks.test(endpoint.id)).fault).toBe('No complete response within 0.7 seconds.')
})

test.each(['end', 'reset'])(
  'resends immediately when an idle connection closes while a request is being sent: %s',
  async (kind) => {
    await using receiver = await startClosingReceiver(kind)
    await using app = await createTestApp(ALLOW_PRIVATE)
    const { webhooks } = app.services
    await webhooks.endpoints.add({ url: receiver.url, events: ['all'] })
    for (let count = 0; count < 5; count++) {
      await emit(app, ...sampleEvents('u1'))
      await webhooks.flush()
    }
    const { deliveries } = await webhooks.deliveries.list({})
    expect(deliveries.map(({ state, attempts }) => `${state} ${attempts}`)).toEqual(
      deliveries.map(() => 'delivered 1'),
    )
    expect(receiver.closed()).toBeGreaterThan(0)
  },
)

test('sends one request per attempt to a receiver that closes new connections', async () => {
  let requests = 0
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => {
      requests++
      socket.destroy()
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  await using app = await createTestApp(ALLOW_PRIVATE)
  const { webhooks } = app.services
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`
  const { endpoint } = await webhooks.endpoints.add({ url, events: ['all'] })
  for (let count = 1; count <= 2; count++) {
    expect((await webhooks.test(endpoint.id)).fault).toContain('ECONNRESET')
    expect(requests).toBe(count)
  }
  server.close()
})

/** A receiver that closes each connection when its third request arrives, without reading it. */
async function startClosingReceiver(kind: string) {
  let closed = 0
  const server = createServer((socket) => {
    let requests = 0
    socket.on('error', () => {})
    socket.on('data', () => {
      requests++
      if (requests < 3) return void socket.write('HTTP/1.1 204 No Content\r\n\r\n')
      closed++
      if (kind === 'reset') socket.resetAndDestroy()
      else socket.destroy()
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}/`,
    closed: () => closed,
    [Symbol.asyncDispose]: async () => void server.close(),
  }
}

/** An address that drops packets: its server is suspended, and its accept backlog is full. */
async function startSilentReceiver(host: string, wantedPort = 0) {
  const code = `const s = require('node:net').createServer(); s.listen({ host: '${host}', port: ${wantedPort}, backlog: 1 }, () => console.log(s.address().port))`
  const child = Bun.spawn([process.execPath, '-e', code], { stdout: 'pipe' })
  const { value } = await child.stdout.getReader().read()
  const port = Number(new TextDecoder().decode(value))
  child.kill('SIGSTOP')
  let isFull = false
  while (!isFull) {
    const socket = createConnection({ host, port }).on('error', () => {})
    openSockets.push(socket)
    const connected = new Promise<boolean>((done) => socket.on('connect', () => done(true)))
    isFull = !(await Promise.race([connected, simulateDelay(200).then(() => false)]))
  }
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}
