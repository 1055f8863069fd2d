import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { sealRequest } from '../../src/client/sealing.ts'
import { createServerKeys } from '../../src/client/server-keys.ts'
import { createMemoryStorage } from '../../src/client/storage.ts'
import { createTransmit } from '../../src/client/transmit.ts'
import { bundle, CHROMIUM, openPage } from '../support/browser.ts'
import { buildExecutable, installExecutable, type Server } from '../support/executable.ts'
import { fault } from '../support/fault.ts'
import { journey } from '../support/journey.ts'
import { register } from '../support/requests.ts'
import { simulateDelay } from '../support/until.ts'
import { startRecordingProxy } from '../support/wire.ts'

const PROFILE = '/api/user/profile/v1'
const PAGE = '<!doctype html><title>x</title><script type="module" src="/page.js"></script>'
const EXPECTED_OUTCOME = {
  isSignedIn: true,
  size: 1_500_000,
  entitlements: [],
  currency: 'eur',
  wrong: 'invalid_credentials',
  name: 'canary-name',
  plans: expect.any(Number),
}

type Outcome = Record<string, unknown>

beforeAll(buildExecutable, 300_000)

test(`works with the executable; log and sealed messages reveal no secrets ${fault(133)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start({ LOG_LEVEL: 'debug' })
  await using plain = startRecordingProxy(server.url)
  await using sealed = startRecordingProxy(server.url)
  expect(await journey(plain.url, 'test', createMemoryStorage())).toMatchObject(EXPECTED_OUTCOME)
  expect(await journey(sealed.url, 'production', createMemoryStorage())).toMatchObject(
    EXPECTED_OUTCOME,
  )
  await server.stop()
  // The plain run proves that the search would find leaked text.
  expect(plain.text()).toContain('canary-content')
  expect(plain.text()).toContain('canary-password')
  const log = await Bun.file(join(homeport.folder, 'log')).text()
  const wire = sealed.text().replaceAll('canary-device', '')
  for (const secret of ['canary', 'Bearer ey', 'refreshToken']) {
    expect([secret, wire.includes(secret), log.includes(secret)]).toEqual([secret, false, false])
  }
}, 30_000)

test.skipIf(CHROMIUM === null).each(['test', 'production'])(
  'the client works with the executable from a browser on another origin, env %s',
  async (env) => {
    const script = await bundle(join(import.meta.dir, '..', 'support', 'browser-page.ts'))
    await using pages = servePage(script)
    await using homeport = await installExecutable()
    const server = await homeport.start({ LOG_LEVEL: 'warn', CORS_ORIGINS: pages.origin })
    await using wire = startRecordingProxy(server.url)
    await using _page = await openPage(`${pages.origin}/?env=${env}&api=${wire.url}`)
    const late = simulateDelay(20_000).then(
      () => ({ failure: 'the page did not report' }) as Outcome,
    )
    const { progress, ...seen } = await Promise.race([pages.outcome, late])
    expect(seen).toMatchObject(EXPECTED_OUTCOME)
    expect((progress as number[]).at(-1)).toBe(1)
    const text = wire.text().replaceAll('canary-device', '')
    expect(text.includes('canary')).toBe(env === 'test')
  },
  60_000,
)

test(`a sealed message is executed once, even after kill -9 ${fault(122)}`, async () => {
  await using homeport = await installExecutable()
  const first = await homeport.start()
  const { accessToken } = await register(first, 'ann@example.com')
  const message = await sealedPatch(first, accessToken)
  expect(await post(first, message)).toBe(200)
  expect(await post(first, message)).toBe(409)
  await first.stop('SIGKILL')
  const second = await homeport.start()
  expect(await post(second, message)).toBe(409)
  expect(await post(second, await sealedPatch(second, accessToken))).toBe(200)
  const rotated = await homeport.run(['keys', 'rotate', '--use', 'enc', '--now', '--yes', '--json'])
  expect(JSON.parse(rotated.stdout)).toHaveLength(2)
  expect(await post(second, message)).toBe(400)
  expect(await post(second, await sealedPatch(second, accessToken))).toBe(200)
  const wrong = await homeport.run(['keys', 'rotate'])
  expect([wrong.exitCode, wrong.stderr]).toEqual([
    2,
    'Specify the use: keys rotate --use enc or --use sig\n',
  ])
}, 30_000)

/** Serves a web app on its own origin; `outcome` resolves to the report from its script. */
function servePage(script: string) {
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { pathname } = new URL(request.url)
      if (pathname === '/') return new Response(PAGE, { headers: { 'content-type': 'text/html' } })
      if (pathname === '/page.js') {
        return new Response(script, { headers: { 'content-type': 'text/javascript' } })
      }
      if (pathname === '/outcome') resolve((await request.json()) as Outcome)
      return new Response()
    },
  })
  const stop = () => server.stop(true)
  const origin = `http://127.0.0.1:${server.port}`
  return { origin, outcome: promise, [Symbol.asyncDispose]: stop }
}

const transmit = createTransmit(fetch)

async function sealedPatch({ url }: Server, token: string): Promise<string> {
  const keys = createServerKeys({ baseUrl: url, pinnedKeys: null, transmit, now: Date.now })
  const body = new TextEncoder().encode('{"onboardingCompleted":true}')
  const content = { method: 'PATCH', target: PROFILE, token, contentType: 'application/json', body }
  return (await sealRequest(content, await keys.current(), Date.now())).message
}

async function post({ url }: Server, message: string): Promise<number> {
  const headers = { env: 'production', 'content-type': 'application/jose' }
  return (await fetch(url + PROFILE, { method: 'PATCH', headers, body: message })).status
}
