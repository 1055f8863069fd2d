import { expect, test } from 'bun:test'
import { brotliDecompressSync } from 'node:zlib'
import { etagMatches } from '../../../src/platform/http/replies/replies.ts'
import { createTestApp } from '../../support/app.ts'
import { serveApp } from '../../support/served.ts'

const PLANS = '/api/user/pricing_plans/v1'
const DECODERS: Record<string, (bytes: Uint8Array<ArrayBuffer>) => Uint8Array> = {
  br: brotliDecompressSync,
  zstd: Bun.zstdDecompressSync,
  gzip: Bun.gunzipSync,
}

test.each([
  ['gzip', 'gzip'],
  ['gzip, deflate, br', 'br'],
  ['gzip, deflate, br, zstd', 'br'],
  ['zstd', 'zstd'],
  ['br;q=0.5, GZIP', 'gzip'],
  ['br;q=0, identity', null],
  ['deflate', null],
  ['', null],
])('a public read is compressed as the client asks: %j', async (accepted, encoding) => {
  await using app = await createTestApp()
  await using served = serveApp(app)
  const plain = await ask(served.url, 'identity')
  const text = await plain.text()
  const reply = await ask(served.url, accepted)
  expect([reply.status, reply.headers.get('content-encoding')]).toEqual([200, encoding])
  expect(reply.headers.get('vary')).toContain('Accept-Encoding')
  expect(plain.headers.get('vary')).toContain('Accept-Encoding')
  const bytes = new Uint8Array(await reply.arrayBuffer())
  const decoded = encoding === null ? bytes : DECODERS[encoding]?.(bytes)
  expect(Buffer.from(decoded ?? []).toString()).toBe(text)
  if (encoding !== null) expect(bytes.length).toBeLessThan(text.length)
})

test('ETags match in every encoding, even as proxies change them', async () => {
  await using app = await createTestApp()
  await using served = serveApp(app)
  const strong = (await ask(served.url, 'identity')).headers.get('etag') ?? ''
  const weak = (await ask(served.url, 'br')).headers.get('etag') ?? ''
  expect(weak).toBe(`W/${strong}`)
  const suffixed = ['-gzip"', '-br"', '--gzip"'].map((end) => strong.replace(/"$/, end))
  for (const tag of [strong, weak, ...suffixed, `W/${suffixed[0]}`])
    for (const encoding of ['br', 'identity'])
      expect([tag, (await ask(served.url, encoding, tag)).status]).toEqual([tag, 304])
  expect((await ask(served.url, 'br', '"other"')).status).toBe(200)
})

test.each(['"a"', '"a-"', '"a--"'])('the tag %s matches with a proxy’s suffix', (etag) => {
  const tags = ['-gzip"', '--gzip"', '-br"'].map((suffix) => etag.replace(/"$/, suffix))
  expect(tags.map((tag) => etagMatches(tag, etag))).toEqual([true, true, true])
  expect(etagMatches('"b-gzip"', etag)).toBe(false)
  expect(etagMatches(etag.replace(/"$/, '-other"'), etag)).toBe(false)
})

test('short, personal and sealed responses are not compressed', async () => {
  await using app = await createTestApp()
  await using served = serveApp(app)
  const { accessToken: token } = await app.register()
  const paths = ['/api/user/profile/v1', '/api/user/content_version/v1']
  for (const path of paths) {
    const headers = { authorization: `Bearer ${token}`, 'accept-encoding': 'br, gzip' }
    const reply = await fetch(`${served.url}${path}`, { headers, decompress: false })
    expect([path, reply.status, reply.headers.get('content-encoding')]).toEqual([path, 200, null])
  }
  await using sealing = await createTestApp({}, { mode: 'sealed' })
  const sealed = await sealing.ask('GET', PLANS, { headers: { 'accept-encoding': 'br' } })
  expect([sealed.status, sealed.json.code]).toEqual([200, 'ok'])
})

function ask(url: string, accepted: string, tag?: string) {
  const headers = { 'accept-encoding': accepted, ...(tag ? { 'if-none-match': tag } : {}) }
  return fetch(`${url}${PLANS}`, { headers, decompress: false })
}
