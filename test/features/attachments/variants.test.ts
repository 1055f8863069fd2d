import { expect, test } from 'bun:test'
import { mkdir, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { fetchFile, filesOf, PATH, uploadBody } from '../../support/attachments.ts'
import { cases } from '../../support/cases.ts'
import { noise, phonePhoto } from '../../support/pictures.ts'
import { usedByWorker } from '../../support/watch.ts'

test('a picture comes in the widths that apps need, made once and cached for ever', async () => {
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
  // A picture is never blown up.
  const large = await fetchFile(app, `${url}?width=2048&format=png`)
  expect(await sharp(await large.arrayBuffer()).metadata()).toMatchObject({
    format: 'png',
    width: 300,
  })
})

test.each(['63', '65', '0', '-64', '1e2', '0x40', '4096', '', 'x', '64.0'])(
  'the width %p is refused, never answered with the original',
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

test('widths beyond that of the picture are one file', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const { url } = await uploadPhoto(app, token)
  const replies = await Promise.all(
    [512, 1024, 2048].map((width) => fetchFile(app, `${url}?width=${width}&format=webp`)),
  )
  expect(new Set(replies.map(({ headers }) => headers.get('etag'))).size).toBe(1)
  expect(await filesOf(app)).toHaveLength(2)
})

test('Accept chooses the format where none is named', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const { url } = await uploadPhoto(app, token)
  const modern = await fetchFile(app, `${url}?width=64`, { accept: 'image/avif,image/webp,*/*' })
  const old = await fetchFile(app, `${url}?width=64`, { accept: 'image/png' })
  expect(modern.headers.get('content-type')).toBe('image/webp')
  expect(old.headers.get('content-type')).toBe('image/jpeg')
  for (const reply of [modern, old]) expect(reply.headers.get('vary')).toBe('Accept')
})

test('twenty first requests at once are one job and one file', async () => {
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

test('a variant that cannot be made is refused again without work, for ten minutes', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const { url, key } = await uploadPhoto(app, token)
  const path = join(app.dataDir, 'files', key.slice(0, 1), key)
  const whole = await Bun.file(path).bytes()
  await Bun.write(path, whole.subarray(0, 100))
  const ask = async (width: number) => (await fetchFile(app, `${url}?width=${width}`)).status
  expect(await ask(64)).toBe(422)
  await Bun.write(path, whole)
  expect([await ask(64), await ask(128)]).toEqual([422, 200])
  app.clock.advance(10 * 60_000 + 1)
  expect(await ask(64)).toBe(200)
})

test('the largest variant in PNG is made within the limit of time', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const raw = { width: 64, height: 64, channels: 3 } as const
  const spots = sharp(crypto.getRandomValues(Buffer.alloc(64 * 64 * 3)), { raw })
  const picture = await spots.resize(2_048).webp().toBuffer()
  const { json } = await uploadBody(app, token, picture, 'image/webp', 'publicAsset')
  const made = await fetchFile(app, `${json.response[0].url}?width=2048&format=png`)
  expect([made.status, made.headers.get('content-type')]).toEqual([200, 'image/png'])
}, 30_000)

test('variants go with their original, and stay as long as it does', async () => {
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

test('a private picture has variants behind its signature only, a text has none', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const picture = await uploadBody(app, token, await phonePhoto(), 'image/jpeg', 'supportTicket')
  const { url } = picture.json.response[0]
  expect((await fetchFile(app, `${url}&width=64&format=webp`)).status).toBe(200)
  const { pathname } = new URL(url)
  expect((await app.ask('GET', `${pathname}?width=64&format=webp`)).status).toBe(404)
  const text = await uploadBody(app, token, 'text', 'text/plain', 'supportTicket')
  const refused = await fetchFile(app, `${text.json.response[0].url}&width=64`)
  expect(refused.status).toBe(422)
})

test('119: a link that somebody planted is not followed', async () => {
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

test('120: a read during a delete is whole or 404', async () => {
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

test('103, 110: many frames and a bomb in a chunk are one picture, and take as little as a small one', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  await uploadPhoto(app, token)
  const before = usedByWorker()
  const pages = await Promise.all(Array.from({ length: 40 }, () => noise(20, 20).png().toBuffer()))
  const frames = await sharp(pages, { join: { animated: true } })
    .webp({ loop: 0 })
    .toBuffer()
  const first = await uploadBody(app, token, frames, 'image/webp', 'publicAsset')
  expect(first.status).toBe(200)
  const bytes = await (await fetchFile(app, first.json.response[0].url)).arrayBuffer()
  expect((await sharp(bytes, { pages: -1 }).metadata()).pages ?? 1).toBe(1)
  const bomb = withTextBomb(await noise(20, 20).png().toBuffer())
  const reply = await uploadBody(app, token, bomb, 'image/png', 'publicAsset')
  expect([200, 422]).toContain(reply.status)
  const after = usedByWorker()
  expect(after.memory - before.memory).toBeLessThan(25e6)
  expect(after.time - before.time).toBeLessThan(500)
}, 30_000)

test('107: mutants of pictures never bring the server down, and what is answered is clean', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const seeds = [
    await phonePhoto(60, 40),
    await noise(60, 40).png().toBuffer(),
    await noise(60, 40).webp().toBuffer(),
  ]
  let random = 7
  const next = (below: number) => {
    random = (random * 1_103_515_245 + 12_345) % 2_147_483_648
    return random % below
  }
  const send = async (at: number) => {
    const mutant = Buffer.from(seeds[at % seeds.length] as Buffer)
    for (let flips = 0; flips < 1 + (at % 8); flips++) mutant[next(mutant.length)] = next(256)
    const cut = at % 5 === 0 ? mutant.subarray(0, next(mutant.length)) : mutant
    const { status, json } = await uploadBody(app, token, cut, 'image/jpeg', 'publicAsset')
    expect([200, 415, 422]).toContain(status)
    return status === 200 ? json.response[0].url : null
  }
  for (let at = 0; at < cases(40, 200); at += 4) {
    const urls = await Promise.all([0, 1, 2, 3].map((more) => send(at + more)))
    for (const url of urls) {
      if (url === null) continue
      const { exif, icc, xmp } = await sharp(
        await (await fetchFile(app, url)).arrayBuffer(),
      ).metadata()
      expect([exif, icc, xmp]).toEqual([undefined, undefined, undefined])
    }
  }
}, 60_000)

/** A PNG with a text chunk that unfolds to 50 MB. */
function withTextBomb(png: Buffer): Buffer {
  const text = Buffer.concat([
    Buffer.from('Comment\0\0'),
    Bun.deflateSync(Buffer.alloc(50_000_000, 65)),
  ])
  const body = Buffer.concat([Buffer.from('zTXt'), text])
  const chunk = Buffer.alloc(8 + body.length)
  chunk.writeUInt32BE(text.length, 0)
  body.copy(chunk, 4)
  chunk.writeUInt32BE(Bun.hash.crc32(body), 4 + body.length)
  return Buffer.concat([png.subarray(0, 33), chunk, png.subarray(33)])
}

async function uploadPhoto(app: TestApp, token: string) {
  const { json } = await uploadBody(app, token, await phonePhoto(), 'image/jpeg', 'publicAsset')
  return json.response[0] as { url: string; key: string }
}
