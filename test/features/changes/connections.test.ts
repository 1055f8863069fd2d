import { expect, test } from 'bun:test'
import { createStreams } from '../../../src/features/changes/streams.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { openStream } from '../../support/event-stream.ts'
import { serveApp } from '../../support/served.ts'
import { until, yieldToEventLoop } from '../../support/until.ts'

test('a lost connection ends its stream on the server', async () => {
  await using app = await createTestApp()
  await using server = serveApp(app)
  const { accessToken: token } = await app.register()
  const stream = await openStream((request) => fetch(request), token, { base: server.url })
  await stream.next('ready')
  expect(app.services.changes.countStreams()).toBe(1)
  await stream.close()
  await until(() => app.services.changes.countStreams() === 0, 'the stream does not end')
})

test('an app that does not read gets only the latest change of each kind', async () => {
  const streams = createStreams(() => {})
  const session = { userId: 'ann', sessionId: 'phone' }
  await using server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: () => new Response(streams.start(streams.add(session), [], 'first')),
  })
  let received = ''
  let isReading = false
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: server.port as number,
    socket: {
      data(one, bytes) {
        received += bytes.toString()
        if (!isReading) one.pause()
      },
    },
  })
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await until(() => received.includes('event: ready'), 'the stream does not begin')
  socket.pause()
  // Several times what the buffers of the system hold.
  const total = 300_000
  for (let sent = 0; sent < total; sent++) {
    streams.deliver('ann', 'data', `change ${sent}`)
    if (sent % 1_000 === 0) await yieldToEventLoop()
  }
  streams.deliver('ann', 'profile', 'last')
  isReading = true
  socket.resume()
  await until(() => received.includes('event: profile'), 'the last change does not arrive')
  const ids = [...received.matchAll(/^id: (.*)$/gm)].map(([, id]) => id)
  expect(ids.length).toBeLessThan(total / 2)
  expect(ids.slice(-2)).toEqual([`change ${total - 1}`, 'last'])
  socket.end()
}, 60_000)

test('a session that ends unnoticed ends its stream at the next check', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const stream = await openStream((request) => app.app.handle(request), token)
  await stream.next('ready')
  expect(app.services.changes.countStreams()).toBe(1)
  await expireSessions(app)
  await app.services.changes.checkSessions()
  await stream.next('signed-out')
  await stream.ended()
})

async function expireSessions({ services: { db } }: TestApp) {
  const { sessions } = db.tables
  await db.write(async (tx) => void (await tx.update(sessions).set({ expiresAt: new Date(0) })))
}
