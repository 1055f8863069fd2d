import { afterEach, expect, test } from 'bun:test'
import { ApiError, createClient } from '../../src/client/client.ts'
import { type Progress, withDeadline } from '../../src/client/deadline.ts'
import { createMemoryStorage } from '../../src/client/storage.ts'
import { createTransmit } from '../../src/client/transmit.ts'
import { createTestApp } from '../support/app.ts'
import { clientOf } from '../support/network.ts'
import { simulateDelay, until, yieldToEventLoop } from '../support/until.ts'

const HOUR = 60 * 60 * 1000
const SETTINGS = { code: 'ok', response: { hardPaywall: false } }
const globals = globalThis as Record<string, unknown>

afterEach(() => {
  delete globals['XMLHttpRequest']
})

/** Answers requests with `replies` in turn: a status, no response, or 503 with Retry-After: 60. */
function startServer(...replies: (number | 'silence' | 'later')[]) {
  const requested: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const reply = replies[requested.length] ?? 200
      requested.push(request.method)
      if (reply === 'silence') await new Promise<never>(() => {})
      if (reply === 200) return Response.json(SETTINGS)
      const headers = { 'retry-after': reply === 'later' ? '60' : '0' }
      const status = reply === 'later' ? 503 : Number(reply)
      const failure = { code: 'unavailable', message: 'Later.', requestId: 'r' }
      return Response.json(failure, { status, headers })
    },
  })
  const url = `http://127.0.0.1:${server.port}`
  return { url, requested, [Symbol.dispose]: () => void server.stop(true) }
}

function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'ok',
    (error) => (error instanceof ApiError ? error.code : String(error)),
  )
}

test('a call that takes too long fails with timeout, and a cancelled one with aborted', async () => {
  using server = startServer('silence', 'silence', 'silence')
  const api = createClient({ baseUrl: server.url, timeout: 20 })
  expect(await codeOf(api.readAppSettings())).toBe('timeout')
  expect(await codeOf(api.forgotPassword({ email: 'a@b.c' }, { timeout: 10 }))).toBe('timeout')
  const controller = new AbortController()
  const { signal } = controller
  const before = server.requested.length
  const cancelled = codeOf(api.readAppSettings({ signal, timeout: 10_000 }))
  await until(() => server.requested.length > before, 'the request does not arrive')
  controller.abort()
  expect(await cancelled).toBe('aborted')
  expect(await codeOf(api.readAppSettings({ signal }))).toBe('aborted')
  expect(server.requested.length).toBeLessThanOrEqual(3)
})

test('an option that is undefined counts as absent', async () => {
  using server = startServer('silence')
  const api = createClient({ baseUrl: server.url, timeout: 20 })
  expect(await codeOf(api.readAppSettings({ timeout: undefined, signal: undefined }))).toBe(
    'timeout',
  )
})

test('retries only reads, and only if they failed temporarily', async () => {
  using server = startServer(503, 502)
  const api = createClient({ baseUrl: server.url })
  expect((await api.readAppSettings()).hardPaywall).toBe(false)
  expect(server.requested).toEqual(['GET', 'GET', 'GET'])
  using busy = startServer(503, 429, 'later', 404)
  const other = createClient({ baseUrl: busy.url })
  expect(await codeOf(other.forgotPassword({ email: 'a@b.c' }))).toBe('unavailable')
  for (const _reply of [429, 'later', 404]) {
    expect(await codeOf(other.readAppSettings())).toBe('unavailable')
  }
  expect(busy.requested).toEqual(['POST', 'GET', 'GET', 'GET'])
}, 60_000)

test('without a network a read gives up after three tries', async () => {
  let tries = 0
  const fetch = async () => {
    tries++
    throw new TypeError('no network')
  }
  const api = createClient({ baseUrl: 'http://127.0.0.1:9', fetch })
  expect(await codeOf(api.readAppSettings())).toBe('network_error')
  expect(tries).toBe(3)
}, 60_000)

test('an abort or a timeout ends a call immediately, whatever it is waiting for', async () => {
  await using app = await createTestApp()
  for (const env of ['test', 'production']) {
    const gate = Promise.withResolvers<never>()
    const storage = createMemoryStorage()
    const slow = {
      ...storage,
      getItem: async (key: string) => (await held) ?? storage.getItem(key),
    }
    let held: Promise<undefined> | undefined
    const { client, network } = clientOf(app, { env, storage: slow })
    await client.startAsGuest()
    app.clock.advance(2 * HOUR)
    const cases: [what: string, begin: () => void][] = [
      ['a refresh', () => (network.interceptor = { request: () => gate.promise })],
      ['the storage', () => (held = gate.promise)],
    ]
    for (const [what, begin] of cases) {
      begin()
      const controller = new AbortController()
      const { signal } = controller
      const calls = [{ signal }, { timeout: 5 }].flatMap((options) => [
        codeOf(client.readProfile(options)),
        codeOf(client.refresh(options)),
        codeOf(client.uploadAttachments({ type: 'supportTicket', files: [] }, options)),
      ])
      controller.abort()
      const codes = [...Array(3).fill('aborted'), ...Array(3).fill('timeout')]
      expect([what, await Promise.all(calls)]).toEqual([what, codes])
      held = undefined
      network.interceptor = {}
    }
  }
})

test('an abort while a read waits for its next attempt prevents further requests', async () => {
  let tries = 0
  const controller = new AbortController()
  const fetch = async () => {
    tries++
    void yieldToEventLoop().then(() => controller.abort())
    throw new TypeError('no network')
  }
  const api = createClient({ baseUrl: 'http://127.0.0.1:9', fetch })
  const { signal } = controller
  expect(await codeOf(api.readAppSettings({ signal }))).toBe('aborted')
  const offline = createClient({
    baseUrl: 'http://127.0.0.1:9',
    fetch: () => Promise.reject(new TypeError('no network')),
  })
  // All attempts of this read take longer than the wait for the next attempt of the other.
  expect(await codeOf(offline.readAppSettings())).toBe('network_error')
  expect(tries).toBe(1)
})

test('a caller that gives up on a shared refresh does not affect other callers', async () => {
  await using app = await createTestApp()
  const { client, network } = clientOf(app, { env: 'test' })
  await client.startAsGuest()
  app.clock.advance(HOUR)
  const gate = Promise.withResolvers<void>()
  network.interceptor = {
    async reply(reply) {
      await gate.promise
      return reply
    },
  }
  const impatient = codeOf(client.readProfile({ timeout: 5 }))
  const patient = codeOf(client.readProfile())
  expect(await impatient).toBe('timeout')
  gate.resolve()
  expect(await patient).toBe('ok')
})

test('parses Retry-After as seconds and as a date', async () => {
  const now = Date.parse('2026-11-22T12:00:00Z')
  const texts = ['7', 'Sun, 22 Nov 2026 12:00:30 GMT', 'Sun, 22 Nov 2026 11:00:00 GMT', 'soon', '']
  const seconds: unknown[] = []
  for (const text of texts) {
    const failure = { code: 'rate_limited', message: 'Later.' }
    const headers = { 'retry-after': text }
    const fetch = async () => Response.json(failure, { status: 429, headers })
    const api = createClient({ baseUrl: 'http://127.0.0.1:9', fetch, now: () => now })
    await api.readAppSettings().catch((error) => seconds.push(error.retryAfter))
  }
  expect(seconds).toEqual([7, 30, 0, null, null])
})

test('a custom fetch is used for everything, even if XMLHttpRequest exists', async () => {
  globals['XMLHttpRequest'] = class {
    constructor() {
      throw new Error('not this one')
    }
  }
  const requested: string[] = []
  await using app = await createTestApp()
  const { client, network } = clientOf(app, {
    fetch: async (url, init) => {
      requested.push(new URL(url).pathname)
      return url.startsWith('file:') ? new Response('from the phone') : network.fetch(url, init)
    },
  })
  await client.startAsGuest()
  const files = [{ uri: 'file:///photo.txt', name: 'photo.txt' }]
  const [stored] = await client.uploadAttachments({ type: 'supportTicket', files })
  expect(stored?.fileName).toBe('photo.txt')
  expect(requested).toContain('/photo.txt')
  const { size } = await client.readAttachment({ key: stored?.key ?? '' })
  expect(size).toBe('from the phone'.length)
})

test('a file that cannot be read causes an ApiError', async () => {
  const fetch = async () => Response.json({})
  const api = createClient({ baseUrl: 'http://127.0.0.1:9', fetch })
  const gone = { name: 'gone.txt', data: { arrayBuffer: () => Promise.reject('gone') } as never }
  const upload = api.uploadAttachments({ type: 'supportTicket', files: [gone] })
  expect(await codeOf(upload)).toBe('file_unreadable')
})

test.each([
  'localhost:3000',
  'api.example.com',
  'ftp://example.com',
  '',
  'https://',
  'https://a b',
])('an invalid baseUrl "%s" is reported immediately', (baseUrl) => {
  expect(() => createClient({ baseUrl })).toThrow(/baseUrl must be a URL such as https/)
})

test('an upload does not time out while it makes progress, but does when it stalls', async () => {
  for (const [ticks, outcome] of [
    [16, 'ok'],
    [1, 'timeout'],
  ] as const) {
    let cancelled = false
    globals['XMLHttpRequest'] = class {
      upload = { onprogress: (_event: { loaded: number; total: number }) => {} }
      onload = () => {}
      status = 200
      responseText = '{}'
      open() {}
      setRequestHeader() {}
      getResponseHeader = () => null
      abort() {
        cancelled = true
      }
      async send() {
        for (let sent = 1; sent <= ticks; sent++) {
          await simulateDelay(25)
          this.upload.onprogress({ loaded: sent, total: ticks })
        }
        await simulateDelay(outcome === 'ok' ? 5 : 1_000)
        this.onload()
      }
    }
    const request = { url: 'http://127.0.0.1:9/', method: 'POST', headers: {}, body: 'x' }
    const sent: number[] = []
    const onProgress = ({ sent: bytes }: Progress) => void sent.push(bytes)
    const reply = withDeadline({ timeout: 300 }, (deadline) =>
      createTransmit()(request, { ...deadline, onProgress }),
    )
    expect(await codeOf(reply)).toBe(outcome)
    expect([sent.length, cancelled]).toEqual([ticks, outcome === 'timeout'])
  }
})
