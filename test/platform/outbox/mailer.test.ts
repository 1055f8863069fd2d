import { expect, test } from 'bun:test'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { SMTPServer } from 'smtp-server'
import {
  createMailer,
  explainSmtpError,
  findEhloName,
  trySmtp,
} from '../../../src/platform/outbox/mailer.ts'
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

test('sends through a relay on this machine that has a self-signed certificate, and greets with a public name', async () => {
  const ehloNames: string[] = []
  // Its default certificate is self-signed and for localhost.
  const server = new SMTPServer({
    authOptional: true,
    disableReverseLookup: true,
    onMailFrom(_address, { hostNameAppearsAs, secure }, done) {
      ehloNames.push(`${hostNameAppearsAs} ${secure}`)
      done()
    },
    onData: (stream, _session, done) => void stream.on('end', () => done()).resume(),
  })
  const smtpUrl = await listen(server.server)
  const ehloName = findEhloName('https://api.example.com')
  const mailer = createMailer({ smtpUrl, ehloName, from: 'a@example.com', folder: '' })
  await mailer.send(MAIL)
  mailer.close()
  await trySmtp(smtpUrl)
  expect(ehloNames).toEqual(['api.example.com true'])

  const verifying = trySmtp(`${smtpUrl}/?tls.rejectUnauthorized=true`).catch(explainSmtpError)
  expect(String(await verifying)).toContain('certificate is not valid')
  await new Promise<void>((done) => server.close(done))
})

test.each([
  ['504 5.5.2 <[127.0.0.1]>: Helo command rejected', '', 'rejects our EHLO name', '?name='],
  ['250 AUTH PLAIN', 'user:wrong@', 'rejects the credentials', 'user name and password'],
])('explains a relay that replies %s', async (reply, credentials, why, advice) => {
  const relay = createServer((socket) => {
    socket.on('error', () => {})
    socket.write('220 hi\r\n')
    socket.on('data', (bytes) => {
      const isGreeting = /^(EHLO|HELO)/.test(String(bytes))
      socket.write(isGreeting ? `${reply}\r\n` : '535 5.7.8 no\r\n')
    })
  })
  const url = (await listen(relay)).replace('//', `//${credentials}`)
  const explained = String(await trySmtp(url).catch(explainSmtpError))
  expect(explained).toContain(why)
  expect(explained).toContain(advice)
  expect(explained).not.toContain('wrong@')
  relay.close()
})

test('explains an unreachable relay with the system’s error', async () => {
  const [why, advice] = (await trySmtp('smtp://127.0.0.1:1').catch(explainSmtpError)) as string[]
  expect([why, advice]).toEqual(['ECONNREFUSED', expect.stringContaining('host and port')])
})

test.each([
  [null, null],
  ['http://localhost:3000', null],
  ['https://api.example.com:8443', 'api.example.com'],
  ['http://192.0.2.1', '[192.0.2.1]'],
  ['http://[2001:db8::1]', '[IPv6:2001:db8::1]'],
])('with BASE_URL %p, greets with %p', (baseUrl, ehloName) => {
  expect(findEhloName(baseUrl)).toBe(ehloName)
})

async function listen(server: Server): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  return `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`
}

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
