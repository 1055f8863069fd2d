import { afterEach, expect, test } from 'bun:test'
import { ApiError, createClient } from '../../src/client/client.ts'
import { withPatience } from '../../src/client/patience.ts'
import { createTransmit, type Progress } from '../../src/client/transmit.ts'

const SETTINGS = { code: 'ok', response: { hardPaywall: false } }
const outer = globalThis as Record<string, unknown>

afterEach(() => {
  delete outer['XMLHttpRequest']
})

/** A server that answers each request with what `replies` say next: a status, silence, or 503 for a minute. */
function startServer(...replies: (number | 'silence' | 'later')[]) {
  const asked: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const reply = replies[asked.length] ?? 200
      asked.push(request.method)
      if (reply === 'silence') await Bun.sleep(60_000)
      if (reply === 200) return Response.json(SETTINGS)
      const headers = { 'retry-after': reply === 'later' ? '60' : '0' }
      const status = reply === 'later' ? 503 : Number(reply)
      const failure = { code: 'unavailable', message: 'Later.', requestId: 'r' }
      return Response.json(failure, { status, headers })
    },
  })
  const url = `http://127.0.0.1:${server.port}`
  return { url, asked, [Symbol.dispose]: () => void server.stop(true) }
}

function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'ok',
    (error) => (error instanceof ApiError ? error.code : String(error)),
  )
}

test('a call that takes too long fails with timeout, and one that is broken off with aborted', async () => {
  using server = startServer('silence', 'silence', 'silence')
  const api = createClient({ baseUrl: server.url, timeout: 20 })
  expect(await codeOf(api.readAppSettings())).toBe('timeout')
  expect(await codeOf(api.forgotPassword({ email: 'a@b.c' }, { timeout: 10 }))).toBe('timeout')
  const { signal } = (() => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 5)
    return controller
  })()
  expect(await codeOf(api.readAppSettings({ signal, timeout: 10_000 }))).toBe('aborted')
  expect(await codeOf(api.readAppSettings({ signal }))).toBe('aborted')
  expect(server.asked.length).toBeLessThanOrEqual(3)
})

test('a read that failed on the way is tried again, and nothing else is', async () => {
  using server = startServer(503, 502)
  const api = createClient({ baseUrl: server.url })
  expect((await api.readAppSettings()).hardPaywall).toBe(false)
  expect(server.asked).toEqual(['GET', 'GET', 'GET'])
  using busy = startServer(503, 429, 'later', 404)
  const other = createClient({ baseUrl: busy.url })
  expect(await codeOf(other.forgotPassword({ email: 'a@b.c' }))).toBe('unavailable')
  for (const _reply of [429, 'later', 404]) {
    expect(await codeOf(other.readAppSettings())).toBe('unavailable')
  }
  expect(busy.asked).toEqual(['POST', 'GET', 'GET', 'GET'])
}, 10_000)

test('without a network a read gives up after three tries', async () => {
  let tries = 0
  const fetch = async () => {
    tries++
    throw new TypeError('no network')
  }
  const api = createClient({ baseUrl: 'http://127.0.0.1:9', fetch })
  expect(await codeOf(api.readAppSettings())).toBe('network_error')
  expect(tries).toBe(3)
}, 10_000)

test.each([
  'localhost:3000',
  'api.example.com',
  'ftp://example.com',
  '',
  'https://',
  'https://a b',
])('a baseUrl of "%s" is told at once', (baseUrl) => {
  expect(() => createClient({ baseUrl })).toThrow(/baseUrl must be an address such as https/)
})

test('an upload lives as long as bytes go out, and ends when they stop', async () => {
  for (const [ticks, outcome] of [
    [6, 'ok'],
    [1, 'timeout'],
  ] as const) {
    let cancelled = false
    outer['XMLHttpRequest'] = class {
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
          await Bun.sleep(20)
          this.upload.onprogress({ loaded: sent, total: ticks })
        }
        await Bun.sleep(outcome === 'ok' ? 5 : 200)
        this.onload()
      }
    }
    const request = { url: 'http://127.0.0.1:9/', method: 'POST', headers: {}, body: 'x' }
    const sent: number[] = []
    const onProgress = ({ sent: bytes }: Progress) => void sent.push(bytes)
    const reply = withPatience({ timeout: 60 }, (patience) =>
      createTransmit()(request, { ...patience, onProgress }),
    )
    expect(await codeOf(reply)).toBe(outcome)
    expect([sent.length, cancelled]).toEqual([ticks, outcome === 'timeout'])
  }
})

test('a file of a phone is sent by the platform, or read when it must be sealed', async () => {
  const files = [{ uri: 'file:///photo.jpg', name: 'photo.jpg', type: 'image/jpeg' }]
  const { formOf } = await import('../../src/client/form.ts')
  const plain = await formOf(files, false)
  expect([plain.contentType, plain.size, plain.body instanceof FormData]).toEqual([
    null,
    null,
    true,
  ])

  outer['XMLHttpRequest'] = class {
    responseType = ''
    response: unknown
    onload = () => {}
    open(_method: string, uri: string) {
      this.response = new TextEncoder().encode(`bytes of ${uri}`).buffer
    }
    send() {
      this.onload()
    }
  }
  const sealed = await formOf(files, true)
  expect(new TextDecoder().decode(sealed.body as Uint8Array)).toContain(
    'bytes of file:///photo.jpg',
  )
})
