import { expect, test } from 'bun:test'
import { mkdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { fetchFile, filesOf, PATH, uploadBody } from '../../support/attachments.ts'
import { fault } from '../../support/fault.ts'
import { phonePhoto } from '../../support/pictures.ts'

test('resizes an image once per requested width, and lets clients cache it forever', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const { url, key } = await uploadPhoto(app, token)
  const small = await fetchFile(app, `${url}?width=128&format=webp`)
  expect(small.status).toBe(200)
  expect(small.headers.get('content-type')).toBe('image/webp')
  expect(small.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  const bytes = await small.arrayBuffer()
  expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 128, height: 171 })
  const etag = small.headers.get('etag') ?? ''
  expect(etag).toBe(`"${key}.w128.webp"`)
  const again = await fetchFile(app, `${url}?width=128&format=webp`, { 'if-none-match': etag })
  expect(again.status).toBe(304)
  const part = await fetchFile(app, `${url}?width=128&format=webp`, { range: 'bytes=0-3' })
  expect([part.status, await part.text()]).toEqual([206, 'RIFF'])
  expect(await filesOf(app)).toHaveLength(2)
  // An image is never enlarged.
  const large = await fetchFile(app, `${url}?width=2048&format=png`)
  expect(await sharp(await large.arrayBuffer()).metadata()).toMatchObject({
    format: 'png',
    width: 300,
  })
})

test.each(['63', '65', '0', '-64', '1e2', '0x40', '4096', '', 'x', '64.0'])(
  'refuses the width %p instead of returning the original',
  async (width) => {
    await using app = await createTestApp()
    const { accessToken: token } = await app.register()
    const { url } = await uploadPhoto(app, token)
    const refused = await app.ask('GET', `${new URL(url).pathname}?width=${width}&format=webp`)
    expect([refused.status, refused.json.details?.[0].path]).toEqual([422, 'width'])
    const formatOnly = await app.ask('GET', `${new URL(url).pathname}?format=webp`)
    expect(formatOnly.status).toBe(422)
    const badFormat = await app.ask('GET', `${new URL(url).pathname}?width=64&format=avif`)
    expect(badFormat.status).toBe(422)
  },
)

test('all widths larger than the image share one file', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const { url } = await uploadPhoto(app, token)
  const replies = await Promise.all(
    [512, 1024, 2048].map((width) => fetchFile(app, `${url}?width=${width}&format=webp`)),
  )
  expect(new Set(replies.map(({ headers }) => headers.get('etag'))).size).toBe(1)
  expect(await filesOf(app)).toHaveLength(2)
})

test('uses Accept to choose the format if none is requested', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const { url } = await uploadPhoto(app, token)
  const modern = await fetchFile(app, `${url}?width=64`, { accept: 'image/avif,image/webp,*/*' })
  const old = await fetchFile(app, `${url}?width=64`, { accept: 'image/png' })
  expect(modern.headers.get('content-type')).toBe('image/webp')
  expect(old.headers.get('content-type')).toBe('image/jpeg')
  for (const reply of [modern, old]) expect(reply.headers.get('vary')).toBe('Accept')
})

test('20 concurrent requests for a new variant create one job and one file', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const { url } = await uploadPhoto(app, token)
  const replies = await Promise.all(
    Array.from({ length: 20 }, () => fetchFile(app, `${url}?width=256&format=jpeg`)),
  )
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
  const { variants } = app.services.db.tables
  expect(await app.services.db.read.$count(variants)).toBe(1)
  expect(await filesOf(app)).toHaveLength(2)
})

test('after a failure, refuses a variant for ten minutes without trying again', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const { url, key } = await uploadPhoto(app, token)
  const path = join(app.dataDir, 'files', key.slice(0, 1), key)
  const intact = await Bun.file(path).bytes()
  await Bun.write(path, intact.subarray(0, 100))
  const ask = async (width: number) => (await fetchFile(app, `${url}?width=${width}`)).status
  expect(await ask(64)).toBe(422)
  await Bun.write(path, intact)
  expect([await ask(64), await ask(128)]).toEqual([422, 200])
  app.clock.advance(10 * 60_000 + 1)
  expect(await ask(64)).toBe(200)
})

test('keeps variants as long as their original and deletes them with it', async () => {
  await using app = await createTestApp()
  const { accessToken: token, user } = await app.register()
  const { url, key } = await uploadPhoto(app, token)
  for (const width of [64, 128]) await fetchFile(app, `${url}?width=${width}&format=webp`)
  app.clock.advance(2 * 3_600_000)
  await app.services.orphans.collect(AbortSignal.timeout(5_000))
  expect(await filesOf(app)).toHaveLength(3)
  const fresh = await app.ask('POST', '/api/auth/login/v1', {
    json: { email: user.email, password: 'correct horse battery' },
  })
  const removed = await app.ask('DELETE', `${PATH}?key=${key}`, {
    token: fresh.json.response.accessToken,
  })
  expect(removed.status).toBe(200)
  expect(await filesOf(app)).toEqual([])
  expect((await fetchFile(app, `${url}?width=64&format=webp`)).status).toBe(404)
})

test('variants of a private image need its signature; a text file has no variants', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const image = await uploadBody(app, token, await phonePhoto(), 'image/jpeg', 'supportTicket')
  const { url } = image.json.response[0]
  expect((await fetchFile(app, `${url}&width=64&format=webp`)).status).toBe(200)
  const { pathname } = new URL(url)
  expect((await app.ask('GET', `${pathname}?width=64&format=webp`)).status).toBe(404)
  const text = await uploadBody(app, token, 'text', 'text/plain', 'supportTicket')
  const refused = await fetchFile(app, `${text.json.response[0].url}&width=64`)
  expect(refused.status).toBe(422)
})

test(`does not follow a planted symbolic link ${fault(119)}`, async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const { json } = await uploadBody(app, token, 'text', 'text/plain', 'supportTicket')
  const { key, url } = json.response[0]
  const path = join(app.dataDir, 'files', key.slice(0, 1), key)
  await rm(path)
  await mkdir(join(app.dataDir, 'elsewhere'))
  await symlink('/etc/passwd', path)
  const reply = await fetchFile(app, url)
  expect(reply.status).toBe(404)
  expect(await reply.text()).not.toContain('root:')
})

test(`a read during a delete returns the whole file or 404 ${fault(120)}`, async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const size = 300_000
  for (let round = 0; round < 5; round++) {
    const { json } = await uploadBody(app, token, 'x'.repeat(size), 'text/plain', 'supportTicket')
    const { key, url } = json.response[0]
    const reads = Array.from({ length: 10 }, () =>
      fetchFile(app, url).then(
        async (reply) =>
          [
            reply.status,
            (await reply.arrayBuffer().catch(() => new ArrayBuffer(0))).byteLength,
          ] as const,
      ),
    )
    await app.ask('DELETE', `${PATH}?key=${key}`, { token })
    for (const [status, length] of await Promise.all(reads)) {
      if (status === 200) expect(length).toBe(size)
      else expect(status).toBe(404)
    }
  }
})

async function uploadPhoto(app: TestApp, token: string) {
  const { json } = await uploadBody(app, token, await phonePhoto(), 'image/jpeg', 'publicAsset')
  return json.response[0] as { url: string; key: string }
}

test('keeps the colours of a 16-bit image with a profile', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const [r, g, b] = [200, 60, 20]
  const image = sharp({ create: { width: 64, height: 64, channels: 3, background: { r, g, b } } })
  const png = await image.toColourspace('rgb16').withIccProfile('srgb').png().toBuffer()
  const headers = { 'content-type': 'image/png' }
  const query = '?type=publicAsset&targetType=png&compression=true'
  const { json } = await app.ask('POST', `${PATH}${query}`, { token, body: png, headers })
  const served = await fetchFile(app, json.response[0].url)
  const { data } = await sharp(await served.arrayBuffer())
    .raw()
    .toBuffer({ resolveWithObject: true })
  for (const [at, value] of [r, g, b].entries()) {
    expect(data[at]).toBeWithin(value - 4, value + 5)
  }
})
