import { beforeAll, expect, test } from 'bun:test'
import { version } from '../../../package.json' with { type: 'json' }
import { buildClient } from '../../../scripts/build-client.ts'
import { packPackage, writeArchive, writeNativeClients } from '../../../scripts/client-archive.ts'
import { assetPath } from '../../../src/lib/files/asset-path.ts'
import { NATIVE_FILES } from '../../../src/platform/http/docs/native-clients.ts'
import { createTestApp } from '../../support/app.ts'

beforeAll(() => writeNativeClients(assetPath('native')))

test('serves each file of the clients for Swift and Kotlin with its version', async () => {
  await using app = await createTestApp()
  for (const name of NATIVE_FILES) {
    const { status, text } = await app.ask('GET', `/client/${name}`)
    const source = await Bun.file(`src/client/native/${name}`).text()
    expect(status).toBe(200)
    expect(text).toStartWith(`// Homeport ${version}: ${name}`)
    expect(text).toEndWith(source)
  }
})

test('the API reference says how to add the files', async () => {
  await writeArchive(assetPath('client.tgz'), await packPackage(await buildClient()))
  await using app = await createTestApp({ BASE_URL: 'https://api.example.com' })
  const { description } = (await app.ask('GET', '/docs/json')).json.info
  expect(description).toContain('curl -fO https://api.example.com/client/Homeport.swift')
})

test('sends a file again only when it has changed', async () => {
  await using app = await createTestApp()
  const etag = (await app.ask('GET', '/client/Homeport.kt')).headers.get('etag') ?? ''
  const again = await app.ask('GET', '/client/Homeport.kt', { headers: { 'if-none-match': etag } })
  expect([again.status, again.text]).toEqual([304, ''])
})

test('no other file is served, and none with CLIENT_PACKAGE=off', async () => {
  await using app = await createTestApp()
  for (const name of ['Other.swift', '..%2Fclient.tgz', 'Homeport.kt.gz'])
    expect((await app.ask('GET', `/client/${name}`)).status).toBe(404)
  await using without = await createTestApp({ CLIENT_PACKAGE: 'off' })
  expect((await without.ask('GET', '/client/Homeport.kt')).status).toBe(404)
})
