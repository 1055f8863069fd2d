import { expect, test } from 'bun:test'
import sharp from 'sharp'
import { createTestApp } from '../../support/app.ts'
import { fetchFile, filesOf, PATH, uploadForm } from '../../support/attachments.ts'
import { fault } from '../../support/fault.ts'
import { noise, oneBitPng, phonePhoto } from '../../support/pictures.ts'

test(`a phone photo comes back upright, as WebP, smaller and without metadata ${fault(109)}`, async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const photo = await phonePhoto(3_200, 2_400)
  const reply = await uploadForm(app, token, [['IMG_1.JPG', photo]], {
    type: 'publicAsset',
    targetType: 'webp',
    compression: 'true',
  })
  expect(reply.status).toBe(200)
  const [record] = reply.json.response
  expect(record).toEqual({
    key: expect.stringMatching(/^[a-z0-9]{26}\.webp$/),
    fileName: 'IMG_1.webp',
    itemType: 'image/webp',
    url: `http://localhost/files/${record.key}`,
  })
  const served = await fetchFile(app, record.url)
  expect(served.headers.get('content-type')).toBe('image/webp')
  expect(served.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  expect(served.headers.get('content-disposition')).toStartWith('inline;')
  expect(served.headers.get('x-content-type-options')).toBe('nosniff')
  expect(served.headers.get('content-security-policy')).toContain('sandbox')
  const bytes = Buffer.from(await served.arrayBuffer())
  expect(bytes.length).toBeLessThan(photo.length)
  const metadata = await sharp(bytes).metadata()
  expect(metadata).toMatchObject({ format: 'webp', width: 1_920, height: 2_560 })
  for (const block of ['exif', 'icc', 'xmp', 'iptc'] as const) {
    expect(metadata[block]).toBeUndefined()
  }
  expect(bytes.toString('latin1')).not.toContain('CanaryPhone')
}, 60_000)

test.each([
  ['png', 'jpg', 'image/jpeg', 'jpg'],
  ['png', 'jpeg', 'image/jpeg', 'jpg'],
  ['jpeg', 'png', 'image/png', 'png'],
  ['webp', 'webp', 'image/webp', 'webp'],
] as const)('converts a %s to %s', async (from, targetType, itemType, extension) => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const image = await noise(60, 40)[from]().toBuffer()
  const reply = await uploadForm(app, token, [['a', image]], { type: 'publicAsset', targetType })
  const [record] = reply.json.response
  expect(record).toMatchObject({ itemType, fileName: `a.${extension}` })
  const bytes = await (await fetchFile(app, record.url)).arrayBuffer()
  expect(await sharp(bytes).metadata()).toMatchObject({
    format: itemType.slice('image/'.length),
    width: 60,
    height: 40,
  })
})

test('a support ticket file keeps its bytes and has a signed URL valid for 15 minutes', async () => {
  await using app = await createTestApp()
  const { accessToken: token, refreshToken } = await app.register()
  const text = 'line one\nline two\n'
  const reply = await uploadForm(app, token, [['app.log', text]], { type: 'supportTicket' })
  const [record] = reply.json.response
  expect(record).toMatchObject({ fileName: 'app.txt', itemType: 'text/plain' })
  const served = await fetchFile(app, record.url)
  expect(await served.text()).toBe(text)
  expect(served.headers.get('content-disposition')).toStartWith('attachment;')

  const url = new URL(record.url)
  expect((await app.ask('GET', url.pathname)).status).toBe(404)
  const later = url.search.replace(/expires=\d+/, `expires=${Date.now() + 9e9}`)
  expect((await app.ask('GET', url.pathname + later)).status).toBe(404)
  app.clock.advance(15 * 60_000)
  expect((await fetchFile(app, record.url)).status).toBe(404)

  const renewed = await app.ask('POST', '/api/auth/refresh/v1', { json: { refreshToken } })
  const fresh = await app.ask('GET', `${PATH}/download?key=${record.key}`, {
    token: renewed.json.response.accessToken,
  })
  expect(fresh.json.response).toMatchObject({
    key: record.key,
    size: text.length,
    expiresAt: new Date(app.clock.now.getTime() + 15 * 60_000).toISOString(),
  })
  expect((await fetchFile(app, fresh.json.response.url)).status).toBe(200)
})

test.each([
  ['HTML named like an image', 'x.jpg', '<html><script>alert(1)</script></html>'],
  ['an SVG', 'x.png', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
  ['a GIF', 'x.gif', Buffer.from('R0lGODlhAQABAAAAACw=', 'base64')],
  ['a PDF', 'x.pdf', '%PDF-1.7\n%âãÏÓ\n1 0 obj\n'],
  ['a TIFF', 'x.tif', await noise(9, 9).tiff().toBuffer()],
  ['a BMP', 'x.bmp', Buffer.from('424d3a0000000000000036000000280000000100000001000000', 'hex')],
  ['an ICO', 'x.ico', Buffer.from('00000100010010100000010020006804000016000000', 'hex')],
  ['an AVIF', 'x.jpg', Buffer.from('0000001c667479706176696600000000617669666d696631', 'hex')],
  ['a JPEG XL', 'x.jxl', Buffer.from('0000000c4a584c200d0a870a', 'hex')],
  ['a text file', 'x.png', 'not an image'],
  ['an empty file', 'x.jpg', ''],
])(
  `%s is not accepted as a public asset ${fault(104, 105, 108, 114)}`,
  async (_what, name, content) => {
    await using app = await createTestApp()
    const { accessToken: token } = await app.register()
    const reply = await uploadForm(app, token, [[name, content]], { type: 'publicAsset' })
    expect([reply.status, reply.json.code]).toEqual([415, 'unsupported_media_type'])
    expect(await filesOf(app)).toEqual([])
  },
)

test('accepts an animated PNG, and keeps only its first frame', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const still = await noise(9, 9).png().toBuffer()
  const control = (type: string, data: Buffer) => {
    const chunk = Buffer.concat([Buffer.from(type), data])
    const edges = [Buffer.alloc(4), Buffer.alloc(4)] as const
    edges[0].writeUInt32BE(data.length)
    edges[1].writeUInt32BE(Bun.hash.crc32(chunk))
    return Buffer.concat([edges[0], chunk, edges[1]])
  }
  const frames = control('acTL', Buffer.from([0, 0, 0, 1, 0, 0, 0, 0]))
  // The header ends after the signature and the chunk IHDR.
  const animated = Buffer.concat([still.subarray(0, 33), frames, still.subarray(33)])
  const reply = await uploadForm(app, token, [['a.png', animated]], { type: 'publicAsset' })
  expect(reply.json.response[0].itemType).toBe('image/png')
  const bytes = await (await fetchFile(app, reply.json.response[0].url)).bytes()
  expect(Buffer.from(bytes).toString('latin1')).not.toContain('acTL')
})

test(`removes data appended to an image ${fault(106)}`, async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const polyglot = Buffer.concat([await phonePhoto(), Buffer.from('<script>MARKER</script>')])
  const reply = await uploadForm(app, token, [['a.jpg', polyglot]], { type: 'publicAsset' })
  const bytes = await (await fetchFile(app, reply.json.response[0].url)).bytes()
  expect(Buffer.from(bytes).toString('latin1')).not.toContain('MARKER')
})

test(`decompression bombs and truncated images get 422 and leave no file ${fault(100, 107)}`, async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const bomb = await uploadForm(app, token, [['b.png', oneBitPng(9_000, 9_000)]], {
    type: 'publicAsset',
  })
  expect([bomb.status, bomb.json.code]).toEqual([422, 'image_too_large'])
  const cut = (await phonePhoto()).subarray(0, 3_000)
  const broken = await uploadForm(app, token, [['c.jpg', cut]], { type: 'publicAsset' })
  expect([broken.status, broken.json.code]).toEqual([422, 'image_unreadable'])
  expect(await filesOf(app)).toEqual([])
})

test('stores all files of a request or none', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const photo = await phonePhoto()
  const mixed: [string, Buffer | string][] = [
    ['a.jpg', photo],
    ['b.jpg', 'not an image'],
  ]
  expect((await uploadForm(app, token, mixed, { type: 'publicAsset' })).status).toBe(415)
  expect(await filesOf(app)).toEqual([])
  const tenFiles = Array.from({ length: 10 }, (_, at): [string, Buffer] => [`${at}.jpg`, photo])
  const stored = await uploadForm(app, token, tenFiles, { type: 'publicAsset' })
  expect(stored.json.response).toHaveLength(10)
  expect(await filesOf(app)).toHaveLength(10)
  const eleven = [...tenFiles, ['11.jpg', photo] as [string, Buffer]]
  expect((await uploadForm(app, token, eleven, { type: 'publicAsset' })).status).toBe(422)
  expect(await filesOf(app)).toHaveLength(10)
})

test('accepts a raw body as an upload, with its name in X-File-Name', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const reply = await app.ask('POST', `${PATH}?type=publicAsset`, {
    token,
    body: await phonePhoto(),
    headers: { 'content-type': 'image/jpeg', 'x-file-name': 'Ferien%20%26%20Meer.jpeg' },
  })
  expect(reply.json.response[0].fileName).toBe('Ferien & Meer.jpg')
})

test.each([
  [
    'a quoted boundary',
    'multipart/form-data; boundary="a b:c"',
    'a b:c',
    'filename="IMG.jpg"',
    'IMG.jpg',
  ],
  [
    'lower-case part headers',
    'multipart/form-data; boundary=x',
    'x',
    'filename="IMG.jpg"',
    'IMG.jpg',
  ],
  [
    'a charset',
    'multipart/form-data; charset=utf-8; boundary=x',
    'x',
    'filename="IMG.jpg"',
    'IMG.jpg',
  ],
  [
    'an extended name',
    'multipart/form-data; boundary=x',
    'x',
    `filename*=utf-8''Gr%C3%BC%C3%9Fe.jpg`,
    'Grüße.jpg',
  ],
  [
    'a percent-encoded name',
    'multipart/form-data; boundary=x',
    'x',
    'filename="Rechnung%20M%C3%A4rz.jpg"',
    'Rechnung März.jpg',
  ],
  ['unusual letter case', 'Multipart/Form-Data; Boundary=x', 'x', 'filename="IMG.jpg"', 'IMG.jpg'],
])(
  'accepts a form with %s, as React Native and other clients send it',
  async (_what, type, boundary, name, stored) => {
    await using app = await createTestApp()
    const { accessToken: token } = await app.register()
    const body = Buffer.concat([
      Buffer.from(
        `--${boundary}\r\ncontent-disposition: form-data; name="file"; ${name}\r\ncontent-type: image/jpeg\r\n\r\n`,
      ),
      await phonePhoto(),
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ])
    const headers = { 'content-type': type }
    const reply = await app.ask('POST', `${PATH}?type=publicAsset`, { token, body, headers })
    expect([reply.status, reply.json.response?.[0].fileName]).toEqual([200, stored])
  },
)

test(`a form without a boundary gets an error that says what to do ${fault(52)}`, async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const headers = { 'content-type': 'multipart/form-data' }
  const reply = await app.ask('POST', `${PATH}?type=publicAsset`, { token, body: 'x', headers })
  expect(reply.status).toBe(400)
  expect(reply.json.message).toContain('Do not set Content-Type yourself')
})

test.each([
  [
    'truncated',
    '--x\r\ncontent-disposition: form-data; name="f"; filename="a.jpg"\r\n\r\nabc',
    400,
  ],
  ['empty', '--x--\r\n', 422],
  ['only text', '--x\r\ncontent-disposition: form-data; name="f"\r\n\r\nabc\r\n--x--\r\n', 422],
  ['garbage', 'no form at all', 400],
])(`a form that is %s is refused and leaves no files ${fault(52)}`, async (_what, body, status) => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const headers = { 'content-type': 'multipart/form-data; boundary=x' }
  const reply = await app.ask('POST', `${PATH}?type=publicAsset`, { token, body, headers })
  expect(reply.status).toBe(status)
  expect(await filesOf(app)).toEqual([])
})

test(`accepts a file of 25 MiB and refuses one more byte ${fault(40)}`, async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const limit = 25 * 1024 * 1024
  for (const form of [true, false]) {
    const send = (size: number) => {
      const content = 'x'.repeat(size)
      if (form) return uploadForm(app, token, [['a.txt', content]], { type: 'supportTicket' })
      const headers = { 'content-type': 'text/plain' }
      return app.ask('POST', `${PATH}?type=supportTicket`, { token, body: content, headers })
    }
    expect((await send(limit)).status).toBe(200)
    expect((await send(limit + 1)).status).toBe(413)
  }
  expect(await filesOf(app)).toHaveLength(2)
})
