import { beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { createAcme } from '../../src/cli/tls/acme.ts'
import type { Certificate } from '../../src/cli/tls/certificate.ts'
import { serveHttpPort } from '../../src/cli/tls/http-port.ts'
import { keepCertificate } from '../../src/cli/tls/renewal.ts'
import { createLog } from '../../src/lib/log/log.ts'
import { startAcmeServer } from '../support/acme-server.ts'
import { selfSigned } from '../support/certificates.ts'
import { buildExecutable, freePort, installExecutable } from '../support/executable.ts'
import { requestSteadily } from '../support/restarts-under-load.ts'
import { enableSocketMigration } from '../support/socket-migration.ts'
import { simulateDelay, until } from '../support/until.ts'

beforeAll(buildExecutable, 300_000)

const DOMAIN = 'api.example.com'

test('TLS_DOMAINS obtains a certificate through ACME and serves it; plain HTTP redirects to https', async () => {
  await using homeport = await installExecutable()
  const [port, httpPort] = [freePort(), freePort()]
  using acme = await startAcmeServer(httpPort)
  const env = { TLS_DOMAINS: DOMAIN, ACME_URL: acme.url, HTTP_PORT: String(httpPort) }
  const server = await homeport.launch({ ...env, PORT: String(port) })
  const served = await waitForCertificate(port, acme.root)
  expect(served.names).toBe(`DNS:${DOMAIN}`)
  expect(await ask(port, acme.root, '/ready')).toMatchObject({ certificate: 'ok', database: 'ok' })
  expect(await ask(port, acme.root, '/api/user/app_settings/v1')).toMatchObject({ code: 'ok' })
  const metrics = await (await replyTo(port, acme.root, '/metrics', DOMAIN)).text()
  const end = Number(/^homeport_certificate_expiry_timestamp_seconds\S* (\S+)$/m.exec(metrics)?.[1])
  expect(end).toBe(served.validTo.getTime() / 1000)

  // With a shorter Host header, the router and the checks would parse different paths.
  const status = (host: string) =>
    replyTo(port, acme.root, '/health', host).then((reply) => reply.status)
  expect([await status('a.b'), await status('ab')]).toEqual([200, 400])

  const plain = (host: string) =>
    fetch(`http://127.0.0.1:${httpPort}/a/b?c=d`, { headers: { host }, redirect: 'manual' })
  for (const host of [DOMAIN, 'evil.example.org']) {
    const { status, headers } = await plain(host)
    expect([status, headers.get('location')]).toEqual([308, `https://${DOMAIN}:${port}/a/b?c=d`])
  }
  await server.stop()

  // A new process uses the stored certificate.
  const again = await homeport.launch({ ...env, PORT: String(port) })
  expect((await waitForCertificate(port, acme.root)).serial).toBe(served.serial)
  expect([acme.state.issued, acme.state.accounts]).toEqual([1, 1])
  await again.stop()

  // It serves the former names until there is a certificate for the new ones.
  acme.state.failing = true
  const names = { TLS_DOMAINS: `${DOMAIN},new.example.com` }
  const more = await homeport.launch({ ...env, ...names, PORT: String(port) })
  expect((await waitForCertificate(port, acme.root)).serial).toBe(served.serial)
  await homeport.waitForLogLine('no certificate could be obtained')
  expect(await ask(port, acme.root, '/ready')).toMatchObject({ certificate: 'failing' })
  await more.stop()

  using _taken = Bun.serve({ port: httpPort, hostname: '127.0.0.1', fetch: () => new Response() })
  const busy = await homeport.run(['serve'], { ...env, PORT: String(port) })
  expect([busy.exitCode, busy.stderr]).toEqual([
    1,
    `Port ${httpPort} is in use: choose another one with HTTP_PORT.\n`,
  ])
  const same = await homeport.run(['serve'], { ...env, PORT: String(httpPort) })
  expect([same.exitCode, same.stderr]).toEqual([
    78,
    expect.stringContaining('HTTP_PORT must differ from PORT'),
  ])
}, 30_000)

test('without a certificate authority nothing is served unencrypted; /ready and the log report it', async () => {
  await using homeport = await installExecutable()
  const [port, httpPort] = [freePort(), freePort()]
  using acme = await startAcmeServer(httpPort)
  acme.state.failing = true
  const env = { TLS_DOMAINS: DOMAIN, ACME_URL: acme.url, HTTP_PORT: String(httpPort) }
  const server = await homeport.launch({ ...env, PORT: String(port) })
  await homeport.waitForLogLine('no certificate could be obtained')
  expect((await homeport.run(['health'])).stdout).toContain('certificate failing')
  await server.stop()
}, 30_000)

test('a certificate is renewed in time, and stays in use if its renewal fails', async () => {
  const httpPort = freePort()
  using acme = await startAcmeServer(httpPort)
  acme.state.lifetime = 600
  const folder = await mkdtemp(join(tmpdir(), 'homeport-acme-'))
  const challenges = new Map<string, string>()
  const plain = { hostname: '127.0.0.1', port: httpPort, domains: [DOMAIN], httpsPort: 443 }
  const server = serveHttpPort({ ...plain, challenges })
  const used: Certificate[] = []
  const renewal = keepCertificate({
    acme: createAcme({ folder, directoryUrl: acme.url, domains: [DOMAIN], challenges }),
    use: (certificate) => used.push(certificate),
    log: createLog('silent'),
    waits: { check: 50, retries: [50], deadline: 10_000 },
  })
  await until(() => used.length >= 2, 'the certificate is not renewed')
  expect(renewal.isFailing()).toBe(false)
  acme.state.failing = true
  await until(renewal.isFailing, 'the failure is not noticed')
  const { length } = used
  acme.state.failing = false
  const isRenewed = () => used.length > length && !renewal.isFailing()
  await until(isRenewed, 'the certificate is not renewed after failures')
  expect(challenges.size).toBe(0)
  await renewal.stop()
  await server.stop(true)
  await rm(folder, { recursive: true })
}, 20_000)

test('a stored certificate from another authority or for other domains is replaced', async () => {
  const httpPort = freePort()
  using acme = await startAcmeServer(httpPort)
  const folder = await mkdtemp(join(tmpdir(), 'homeport-acme-'))
  const challenges = new Map<string, string>()
  const server = serveHttpPort({
    hostname: '127.0.0.1',
    port: httpPort,
    domains: [DOMAIN],
    httpsPort: 443,
    challenges,
  })
  const options = { folder, directoryUrl: acme.url, domains: [DOMAIN], challenges }
  await createAcme(options).obtain()
  const isAsConfigured = async (changes: Partial<typeof options>) =>
    (await createAcme({ ...options, ...changes }).load())?.isAsConfigured
  expect(await isAsConfigured({})).toBe(true)
  expect(await isAsConfigured({ directoryUrl: 'https://acme.example/directory' })).toBe(false)
  expect(await isAsConfigured({ domains: ['other.example'] })).toBe(false)
  await server.stop(true)
  await rm(folder, { recursive: true })
}, 20_000)

test('a console port that is in use is reported at startup, even with TLS_DOMAINS', async () => {
  await using homeport = await installExecutable()
  using other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
  const { process } = await homeport.launch({
    PORT: String(freePort()),
    HTTP_PORT: String(freePort()),
    TLS_DOMAINS: DOMAIN,
    CONSOLE_PORT: String(other.port),
  })
  expect(await process.exited).toBe(1)
})

test('an authority with an endless response is retried after a deadline', async () => {
  await using authority = await startAuthority(endlessReply, 300)
  await until(() => authority.tries() >= 2, 'the authority gets no second request')
  expect(authority.renewal.isFailing()).toBe(true)
})

test('retries at its own pace if an authority limits requests for hours', async () => {
  const limited = () => new Response('', { status: 429, headers: { 'retry-after': '7200' } })
  await using authority = await startAuthority(limited, 60_000)
  await until(() => authority.tries() >= 2, 'the authority gets no second request')
})

test('the server stops immediately while it waits for an authority', async () => {
  await using authority = await startAuthority(endlessReply, 60_000)
  await until(() => authority.tries() >= 1, 'the authority gets no request')
  await authority.renewal.stop()
})

/** An authority with the same response to every request, and a renewal that gives up after `deadline` ms. */
async function startAuthority(reply: () => Response, deadline: number) {
  let tries = 0
  const authority = Bun.serve({
    port: 0,
    fetch: () => {
      tries++
      return reply()
    },
  })
  const folder = await mkdtemp(join(tmpdir(), 'homeport-acme-'))
  const renewal = keepCertificate({
    acme: createAcme({
      folder,
      directoryUrl: authority.url.href,
      domains: [DOMAIN],
      challenges: new Map(),
    }),
    use: () => {},
    log: createLog('silent'),
    waits: { check: 50, retries: [50], deadline },
  })
  return {
    renewal,
    tries: () => tries,
    async [Symbol.asyncDispose]() {
      await renewal.stop()
      await authority.stop(true)
      await rm(folder, { recursive: true })
    },
  }
}

const endlessReply = () =>
  new Response(
    (async function* () {
      for (;;) yield simulateDelay(20).then(() => ' ')
    })(),
  )

test('uses TLS_CERT and TLS_KEY, and picks up replacements without losing a request', async () => {
  await using migration = await enableSocketMigration()
  await using homeport = await installExecutable()
  const port = freePort()
  const paths = { TLS_CERT: join(homeport.folder, 'cert'), TLS_KEY: join(homeport.folder, 'key') }
  const install = async (pair: Certificate) => {
    await Bun.write(paths.TLS_KEY, pair.key)
    await Bun.write(paths.TLS_CERT, pair.cert)
  }
  const [first, second] = [await selfSigned(DOMAIN), await selfSigned(DOMAIN)]
  await install({ ...first, key: second.key })
  const wrong = await homeport.run(['serve'], { ...paths, PORT: String(port) })
  expect([wrong.exitCode, wrong.stderr]).toEqual([
    78,
    expect.stringContaining('the key does not match'),
  ])

  await install(first)
  const server = await homeport.launch({ ...paths, PORT: String(port) })
  await waitForCertificate(port, first.cert)
  const controller = new AbortController()
  const replies = Promise.all(
    Array.from({ length: 8 }, () => requestUntilAborted(port, controller.signal)),
  )
  const stopRequests = requestSteadily(`https://127.0.0.1:${port}`, 200)
  await simulateDelay(1_000)
  await install(second)
  await waitForCertificate(port, second.cert)
  await simulateDelay(1_000)
  controller.abort()
  const { acknowledged, refused } = await stopRequests()
  expect(acknowledged.length).toBeGreaterThan(100)
  expect(refused).toEqual([])
  const results = (await replies).flat()
  expect(results.length).toBeGreaterThan(100)
  const lost = results.filter((status) => status !== 200)
  if (migration.isOn) expect(lost).toEqual([])
  else expect(lost.length).toBeLessThan(4)
  await server.stop()
}, 30_000)

/** Sends requests, each on a new connection, until aborted, and returns the statuses. */
async function requestUntilAborted(port: number, signal: AbortSignal) {
  const statuses: (number | string)[] = []
  while (!signal.aborted) {
    const options = { keepalive: false, tls: { rejectUnauthorized: false } }
    const status = await fetch(`https://127.0.0.1:${port}/health`, options).then(
      (reply) => reply.status,
      (error) => String(error),
    )
    statuses.push(status)
  }
  return statuses
}

/** Waits until a server responds over TLS with a certificate issued by `ca`. */
function waitForCertificate(port: number, ca: string) {
  return until(() => certificateAt(port, ca).catch(() => null), 'no certificate is served')
}

type Served = { serial: string; names: string; validTo: Date }

function certificateAt(port: number, ca: string) {
  const { promise, resolve, reject } = Promise.withResolvers<Served>()
  const socket = connect({ host: '127.0.0.1', port, ca, servername: DOMAIN }, () => {
    const { serialNumber: serial, subjectaltname = '', valid_to } = socket.getPeerCertificate()
    resolve({ serial, names: subjectaltname, validTo: new Date(valid_to) })
    socket.end()
  })
  socket.on('error', reject)
  return promise
}

async function ask(port: number, ca: string, path: string) {
  return (await replyTo(port, ca, path, DOMAIN)).json()
}

function replyTo(port: number, ca: string, path: string, host: string) {
  const tls = { ca, serverName: DOMAIN }
  return fetch(`https://127.0.0.1:${port}${path}`, { headers: { host }, tls })
}
