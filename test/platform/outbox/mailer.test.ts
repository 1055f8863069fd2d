import { expect, test } from 'bun:test'
import { createServer, type Socket } from 'node:net'
import { createMailer, trySmtp } from '../../../src/platform/outbox/mailer.ts'
import { until } from '../../support/until.ts'

const MAIL = { to: 'ann@example.com', subject: 'Hello', text: 'Hello', html: '<p>Hello</p>' }
const DRIP_INTERVAL_MS = 20
const DEADLINE_MS = 400

test('a delivery to an SMTP server that never stops replying fails and closes the connection', async () => {
  await using relay = await startDrippingRelay()
  const mailer = createMailer({
    smtpUrl: relay.url,
    from: 'a@example.com',
    folder: '',
    deadline: DEADLINE_MS,
  })
  const mails = Array.from({ length: 6 }, () => mailer.send(MAIL))
  for (const outcome of await Promise.allSettled(mails)) {
    expect(String((outcome as PromiseRejectedResult).reason)).toContain('took longer than')
  }
  await relay.waitUntilUnused()
})

test('a check of an SMTP server that never stops replying fails', async () => {
  await using relay = await startDrippingRelay()
  expect(trySmtp(relay.url, DEADLINE_MS)).rejects.toThrow('took longer than')
})

/** A mail server that greets and then keeps sending lines of an endless reply. */
async function startDrippingRelay() {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.write('220 hi\r\n')
    const drip = setInterval(() => socket.write('250-a\r\n'), DRIP_INTERVAL_MS)
    socket.on('error', () => {})
    socket.on('close', () => {
      clearInterval(drip)
      sockets.delete(socket)
    })
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  const { port } = server.address() as { port: number }
  return {
    url: `smtp://127.0.0.1:${port}`,
    waitUntilUnused: () => until(() => sockets.size === 0, 'a connection stays open'),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
