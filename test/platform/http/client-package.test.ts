import { beforeAll, expect, test } from 'bun:test'
import { version } from '../../../package.json' with { type: 'json' }
import { buildClient } from '../../../scripts/build-client.ts'
import { packPackage, writeArchive } from '../../../scripts/client-archive.ts'
import { assetPath } from '../../../src/lib/files/asset-path.ts'
import { createTestApp } from '../../support/app.ts'

const PATH = '/client.tgz'

beforeAll(async () => {
  await writeArchive(assetPath('client.tgz'), await packPackage(await buildClient()))
})

test('serves the package, and its integrity and install line are in the API reference', async () => {
  await using app = await createTestApp({ BASE_URL: 'https://api.example.com' })
  const reply = await app.app.handle(new Request(`http://localhost${PATH}`))
  expect(reply.status).toBe(200)
  expect(reply.headers.get('content-type')).toBe('application/gzip')
  const bytes = new Uint8Array(await reply.arrayBuffer())
  const integrity = `sha512-${new Bun.CryptoHasher('sha512').update(bytes).digest('base64')}`
  const { description } = (await app.ask('GET', '/docs/json')).json.info
  expect(description).toContain(`\`${integrity}\``)
  const name = `homeport-client-${version}.tgz`
  expect(description).toContain(
    `curl -f --create-dirs -o vendor/${name} https://api.example.com/client-${version}.tgz && npm install ./vendor/${name}`,
  )
  const archive = await new Bun.Archive(bytes).files()
  const manifest = JSON.parse((await archive.get('package/package.json')?.text()) ?? '')
  expect([manifest.name, manifest.version]).toEqual(['homeport-client', version])
})

test('serves the package at an address with its version, and returns 404 with the reason for another version', async () => {
  await using app = await createTestApp()
  const etag = (await app.ask('HEAD', PATH)).headers.get('etag')
  const same = await app.ask('HEAD', `/client-${version}.tgz`)
  expect([same.status, same.headers.get('etag')]).toEqual([200, etag])
  const other = await app.ask('GET', '/client-0.0.9.tgz')
  expect(other.status).toBe(404)
  expect(other.json.message).toContain(`This server has version ${version}`)
})

test('sends the package again only when it has changed', async () => {
  await using app = await createTestApp()
  const etag = (await app.ask('HEAD', PATH)).headers.get('etag') ?? ''
  expect(etag).toMatch(/^"sha512-/)
  const again = await app.ask('GET', PATH, { headers: { 'if-none-match': etag } })
  expect([again.status, again.text]).toEqual([304, ''])
  expect(again.headers.get('cache-control')).toBe('public, no-cache')
  expect((await app.ask('GET', PATH, { headers: { 'if-none-match': '"old"' } })).status).toBe(200)
})

test('serves the package unsealed when encryption is required', async () => {
  await using app = await createTestApp({ PAYLOAD_ENCRYPTION: 'required' })
  expect((await app.ask('GET', PATH)).status).toBe(200)
  expect((await app.ask('GET', `/client-${version}.tgz`)).status).toBe(200)
})

test('CLIENT_PACKAGE=off: the package is neither served nor mentioned', async () => {
  const headers = { accept: 'text/html' }
  for (const [setting, status] of [
    ['on', 200],
    ['off', 404],
  ] as const) {
    await using app = await createTestApp({ CLIENT_PACKAGE: setting })
    expect((await app.ask('GET', PATH)).status).toBe(status)
    const pages = [await app.ask('GET', '/docs/json'), await app.ask('GET', '/', { headers })]
    for (const { text } of pages) expect(/\/client\S*\.tgz/.test(text)).toBe(status === 200)
  }
})

test('the same sources give the same bytes, and another name changes only package.json', async () => {
  const [first, second, scoped] = [
    await buildClient(),
    await buildClient(),
    await buildClient('@acme/homeport-client'),
  ]
  expect(await packPackage(first)).toEqual(await packPackage(second))
  expect(JSON.parse(new TextDecoder().decode(scoped.get('package.json'))).name).toBe(
    '@acme/homeport-client',
  )
  for (const files of [first, scoped]) files.delete('package.json')
  expect(scoped).toEqual(first)
})
