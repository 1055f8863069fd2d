import { expect, test } from 'bun:test'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { cleanName } from '../src/features/attachments/preparing.ts'
import { rangeOf } from '../src/features/attachments/serve.ts'
import { createTestApp, type TestApp } from './support/app.ts'
import { bombPng, noise, phonePhoto } from './support/pictures.ts'

const PATH = '/api/user/attachments/v1'

test('109: a phone photo comes back upright, as WebP, smaller and without metadata', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const photo = await phonePhoto(3_200, 2_400)
  const reply = await upload(app, token, [['IMG_1.JPG', photo]], {
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
  const made = await sharp(bytes).metadata()
  expect(made).toMatchObject({ format: 'webp', width: 1_920, height: 2_560 })
  for (const block of ['exif', 'icc', 'xmp', 'iptc'] as const) expect(made[block]).toBeUndefined()
  expect(bytes.toString('latin1')).not.toContain('CanaryPhone')
})

test.each([
  ['png', 'jpg', 'image/jpeg', 'jpg'],
  ['png', 'jpeg', 'image/jpeg', 'jpg'],
  ['jpeg', 'png', 'image/png', 'png'],
  ['webp', 'webp', 'image/webp', 'webp'],
] as const)('a %s becomes %s', async (from, targetType, itemType, extension) => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const picture = await noise(60, 40)[from]().toBuffer()
  const reply = await upload(app, token, [['a', picture]], { type: 'publicAsset', targetType })
  const [record] = reply.json.response
  expect(record).toMatchObject({ itemType, fileName: `a.${extension}` })
  const bytes = await (await fetchFile(app, record.url)).arrayBuffer()
  expect(await sharp(bytes).metadata()).toMatchObject({
    format: itemType.slice('image/'.length),
    width: 60,
    height: 40,
  })
})

test('a support ticket keeps its bytes, behind a URL that is signed and ends after 15 minutes', async () => {
  await using app = await createTestApp()
  const { accessToken: token, refreshToken } = await app.register()
  const text = 'line one\nline two\n'
  const reply = await upload(app, token, [['app.log', text]], { type: 'supportTicket' })
  const [record] = reply.json.response
  expect(record).toMatchObject({ fileName: 'app.txt', itemType: 'text/plain' })
  const served = await fetchFile(app, record.url)
  expect(await served.text()).toBe(text)
  expect(served.headers.get('content-disposition')).toStartWith('attachment;')

  const url = new URL(record.url)
  expect((await app.ask('GET', url.pathname)).status).toBe(404)
  const later = url.search.replace(/expires=\d+/, `expires=${Date.now() + 9e9}`)
  expect((await app.ask('GET', url.pathname + later)).status).toBe(404)
  app.clock.advance(15 * 60_000 + 1)
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
  ['HTML named as a picture', 'x.jpg', '<html><script>alert(1)</script></html>'],
  ['an SVG', 'x.png', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'],
  ['a GIF', 'x.gif', Buffer.from('R0lGODlhAQABAAAAACw=', 'base64')],
  ['a PDF', 'x.pdf', '%PDF-1.7\n%âãÏÓ\n1 0 obj\n'],
  ['a TIFF', 'x.tif', await noise(9, 9).tiff().toBuffer()],
  ['a BMP', 'x.bmp', Buffer.from('424d3a0000000000000036000000280000000100000001000000', 'hex')],
  ['an ICO', 'x.ico', Buffer.from('00000100010010100000010020006804000016000000', 'hex')],
  ['an HEIC', 'x.jpg', Buffer.from('0000001866747970686569630000000068656963', 'hex')],
  ['a JPEG XL', 'x.jxl', Buffer.from('0000000c4a584c200d0a870a', 'hex')],
  ['a text', 'x.png', 'not a picture'],
  ['nothing at all', 'x.jpg', ''],
])('104, 105, 108, 114: %s is no public asset', async (_what, name, content) => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const reply = await upload(app, token, [[name, content]], { type: 'publicAsset' })
  expect([reply.status, reply.json.code]).toEqual([415, 'unsupported_media_type'])
  expect(await filesOf(app)).toEqual([])
})

test('106: what is appended to a picture does not survive', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const polyglot = Buffer.concat([await phonePhoto(), Buffer.from('<script>MARKER</script>')])
  const reply = await upload(app, token, [['a.jpg', polyglot]], { type: 'publicAsset' })
  const bytes = await (await fetchFile(app, reply.json.response[0].url)).bytes()
  expect(Buffer.from(bytes).toString('latin1')).not.toContain('MARKER')
})

test('100, 107: a bomb and a cut picture get a clear 422 and leave nothing', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const bomb = await upload(app, token, [['b.png', await bombPng(9_000)]], { type: 'publicAsset' })
  expect([bomb.status, bomb.json.code]).toEqual([422, 'image_too_large'])
  const cut = (await phonePhoto()).subarray(0, 3_000)
  const broken = await upload(app, token, [['c.jpg', cut]], { type: 'publicAsset' })
  expect([broken.status, broken.json.code]).toEqual([422, 'image_unreadable'])
  expect(await filesOf(app)).toEqual([])
})

test('all files of one request are stored or none', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const photo = await phonePhoto()
  const half: [string, Buffer | string][] = [
    ['a.jpg', photo],
    ['b.jpg', 'not a picture'],
  ]
  expect((await upload(app, token, half, { type: 'publicAsset' })).status).toBe(415)
  expect(await filesOf(app)).toEqual([])
  const whole = Array.from({ length: 10 }, (_, at): [string, Buffer] => [`${at}.jpg`, photo])
  const stored = await upload(app, token, whole, { type: 'publicAsset' })
  expect(stored.json.response).toHaveLength(10)
  expect(await filesOf(app)).toHaveLength(10)
  const eleven = [...whole, ['11.jpg', photo] as [string, Buffer]]
  expect((await upload(app, token, eleven, { type: 'publicAsset' })).status).toBe(422)
  expect(await filesOf(app)).toHaveLength(10)
})

test('a raw body is an upload too, with its name in X-File-Name', async () => {
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
  ['another case', 'Multipart/Form-Data; Boundary=x', 'x', 'filename="IMG.jpg"', 'IMG.jpg'],
])('React Native and its relatives send %s', async (_what, type, boundary, name, stored) => {
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
})

test('52: a form without a boundary gets a sentence that says what to do', async () => {
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
])('52: a form that is %s is refused and leaves nothing', async (_what, body, status) => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const headers = { 'content-type': 'multipart/form-data; boundary=x' }
  const reply = await app.ask('POST', `${PATH}?type=publicAsset`, { token, body, headers })
  expect(reply.status).toBe(status)
  expect(await filesOf(app)).toEqual([])
})

test('40: a file of 25 MiB is taken, one byte more is too large', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const most = 25 * 1024 * 1024
  for (const form of [true, false]) {
    const send = (size: number) => {
      const content = 'x'.repeat(size)
      if (form) return upload(app, token, [['a.txt', content]], { type: 'supportTicket' })
      const headers = { 'content-type': 'text/plain' }
      return app.ask('POST', `${PATH}?type=supportTicket`, { token, body: content, headers })
    }
    expect((await send(most)).status).toBe(200)
    expect((await send(most + 1)).status).toBe(413)
  }
  expect(await filesOf(app)).toHaveLength(2)
})

test('53, 112: no name and no key reads anything outside of the folder', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const reply = await upload(app, token, [['../../../etc/passwd', 'text']], {
    type: 'supportTicket',
  })
  expect(reply.json.response[0].fileName).toBe('passwd.txt')
  const keys = [
    '../../etc/passwd',
    '..%2f..%2fetc%2fpasswd',
    '%00',
    '%c0%af',
    '.',
    'a'.repeat(9_000),
  ]
  for (const key of keys) {
    for (const path of [`/files/${key}`, `${PATH}/download?key=${key}`]) {
      const { status, text } = await app.ask('GET', path, { token })
      expect([path, status]).toEqual([path, 404])
      expect(text).not.toContain('root:')
    }
  }
})

test('76: the file of somebody else is an unknown one', async () => {
  await using app = await createTestApp()
  const owner = await app.register()
  const { accessToken: token } = await app.register()
  const reply = await upload(app, owner.accessToken, [['a.txt', 'mine']], { type: 'supportTicket' })
  const { key } = reply.json.response[0]
  for (const [method, path] of [
    ['GET', `${PATH}/download`],
    ['DELETE', PATH],
  ] as const) {
    const foreign = await app.ask(method, `${path}?key=${key}`, { token })
    const unknown = await app.ask(method, `${path}?key=${'a'.repeat(26)}.txt`, { token })
    expect(foreign.status).toBe(404)
    expect({ ...foreign.json, requestId: '' }).toEqual({ ...unknown.json, requestId: '' })
  }
  expect(await filesOf(app)).toHaveLength(1)
  const own = await app.ask('DELETE', `${PATH}?key=${key}`, { token: owner.accessToken })
  expect(own.json).toEqual({ code: 'ok', message: 'The file is gone.' })
  expect(await filesOf(app)).toEqual([])
})

test('a file answers ranges, HEAD and If-None-Match', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const reply = await upload(app, token, [['a.txt', '0123456789']], { type: 'supportTicket' })
  const { url } = reply.json.response[0]
  const part = await fetchFile(app, url, { range: 'bytes=2-4' })
  expect([part.status, await part.text()]).toEqual([206, '234'])
  expect(part.headers.get('content-range')).toBe('bytes 2-4/10')
  expect((await fetchFile(app, url, { range: 'bytes=10-' })).status).toBe(416)
  const etag = part.headers.get('etag') ?? ''
  expect((await fetchFile(app, url, { 'if-none-match': etag })).status).toBe(304)
  const changed = await fetchFile(app, url, { range: 'bytes=2-4', 'if-range': '"other"' })
  expect([changed.status, await changed.text()]).toEqual([200, '0123456789'])
})

test.each([
  [null, null],
  ['bytes=0-', { first: 0, last: 9 }],
  ['bytes=0-99', { first: 0, last: 9 }],
  ['bytes=-3', { first: 7, last: 9 }],
  ['bytes=-99', { first: 0, last: 9 }],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=10-12', 'unsatisfiable'],
  ['bytes=5-4', null],
  ['bytes=0-1,3-4', null],
  ['bytes=-', null],
  ['bytes=a-b', null],
  ['lines=0-1', null],
] as const)('118: the range %s of 10 bytes', (header, expected) => {
  expect(rangeOf(header, 10)).toEqual(expected)
})

test.each([
  ['photo.JPG', 'photo.webp'],
  ['../../x', 'x.webp'],
  ['C:\\Users\\me\\pic.png', 'pic.webp'],
  ['a\r\nSet-Cookie: x=1.png', 'aSet-Cookie: x=1.webp'],
  ['\u202egnp.exe', 'gnp.webp'],
  ['.htaccess', 'htaccess.webp'],
  ['..', 'file.webp'],
  ['', 'file.webp'],
  ['🙂 "quoted".jpg', '🙂 "quoted".webp'],
  [`${'x'.repeat(5_000)}.jpg`, `${'x'.repeat(100)}.webp`],
])('113: the name %.30j is stored as %.30j', (name, cleaned) => {
  expect(cleanName(name, 'webp')).toBe(cleaned)
})

test('113: a hostile name cannot break out of the header', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const reply = await app.ask('POST', `${PATH}?type=supportTicket`, {
    token,
    body: 'text',
    headers: { 'content-type': 'text/plain', 'x-file-name': encodeURIComponent('a"; b=é\r\nX: y') },
  })
  const served = await fetchFile(app, reply.json.response[0].url)
  expect(served.headers.get('content-disposition')).toBe(
    `attachment; filename="a__ b__X_ y.txt"; filename*=UTF-8''a%22%3B%20b%3D%C3%A9X%3A%20y.txt`,
  )
})

test('7: below the floor of free space uploads get 507 and everything else goes on', async () => {
  await using app = await createTestApp({ MIN_FREE_BYTES: String(2 ** 52) })
  const { accessToken: token } = await app.register()
  const reply = await upload(app, token, [['a.txt', 'text']], { type: 'supportTicket' })
  expect([reply.status, reply.json.code]).toEqual([507, 'insufficient_storage'])
  expect((await app.ask('GET', '/ready')).json.storage).toBe('failing')
})

test('37: a worker that dies costs one 503, and the next picture is made', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const large = await noise(4_000, 3_000).jpeg({ quality: 95 }).toBuffer()
  const dying = upload(app, token, [['a.jpg', large]], { type: 'publicAsset', targetType: 'webp' })
  await killWorker()
  const { status, headers } = await dying
  expect([status, headers.get('retry-after')]).toEqual([503, '5'])
  const next = await upload(app, token, [['a.jpg', await phonePhoto()]], { type: 'publicAsset' })
  expect(next.status).toBe(200)
  expect(await filesOf(app)).toHaveLength(1)
})

test('116: a client that goes away in the middle of a form leaves nothing and hurts nobody', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const server = app.app.listen({ port: 0, hostname: '127.0.0.1' }).server as Bun.Server<unknown>
  const head = (type: string) =>
    `POST ${PATH}?type=publicAsset HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: ${type}\r\nContent-Length: 2000000\r\n\r\n`
  const part = '--x\r\ncontent-disposition: form-data; name="f"; filename="a.jpg"\r\n\r\n'
  const starts = [head('multipart/form-data; boundary=x') + part, head('image/jpeg')]
  for (let round = 0; round < 20; round++) {
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port: server.port ?? 0,
      socket: { data() {} },
    })
    socket.write(`${starts[round % 2]}${'y'.repeat(1_000 * round)}`)
    await Bun.sleep(10)
    socket.terminate()
  }
  await Bun.sleep(200)
  Bun.gc(true)
  await Bun.sleep(50)
  expect(await filesOf(app)).toEqual([])
  expect((await app.ask('GET', '/api/user/profile/v1', { token })).status).toBe(200)
  await server.stop(true)
})

test('39, 40: a form over 64 MiB is too large, also when its length is not announced', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const part = `--x\r\ncontent-disposition: form-data; name="f"; filename="a.txt"\r\n\r\n${'y'.repeat(2 ** 24)}\r\n`
  let sent = 0
  const body = new ReadableStream({
    pull(controller) {
      if (sent++ < 5) controller.enqueue(Buffer.from(part))
      else controller.close()
    },
  })
  const headers = { 'content-type': 'multipart/form-data; boundary=x' }
  const reply = await app.ask('POST', `${PATH}?type=supportTicket`, { token, body, headers })
  expect([reply.status, reply.json.code]).toEqual([413, 'payload_too_large'])
  expect(await filesOf(app)).toEqual([])
})

test('117: files without a row are collected once they are old, those with one stay', async () => {
  await using app = await createTestApp()
  app.expectErrors()
  const { accessToken: token } = await app.register()
  await upload(app, token, [['a.txt', 'kept']], { type: 'supportTicket' })
  const [kept = ''] = await filesOf(app)
  const orphan = `${'0'.repeat(26)}.txt`
  await Bun.write(join(app.dataDir, 'files', '0', orphan), 'orphan')
  const collect = () => app.services.attachments.collectOrphans(AbortSignal.timeout(5_000))
  await collect()
  expect((await filesOf(app)).toSorted()).toEqual([orphan, kept].toSorted())
  app.clock.advance(61 * 60_000)
  await collect()
  expect(await filesOf(app)).toEqual([kept])
  await rm(join(app.dataDir, 'files', kept.slice(0, 1), kept))
  await collect()
  expect(app.lines.join('')).toContain('the file of an attachment is missing')
})

/** Kills our image worker as soon as there is one. */
async function killWorker() {
  for (let tries = 0; tries < 200; tries++) {
    await Bun.sleep(20)
    const { stdout } = Bun.spawnSync(['pgrep', '-P', String(process.pid), '-f', 'image-worker'])
    const [pid] = stdout.toString().split('\n').filter(Boolean)
    if (pid === undefined) continue
    await Bun.sleep(300)
    process.kill(Number(pid), 'SIGKILL')
    return
  }
  throw new Error('there is no image worker')
}

function upload(
  app: TestApp,
  token: string,
  files: [string, Buffer | string][],
  query: Record<string, string>,
) {
  const form = new FormData()
  for (const [name, content] of files) form.append('file', new Blob([content]), name)
  return app.ask('POST', `${PATH}?${new URLSearchParams(query)}`, { token, body: form })
}

function fetchFile(app: TestApp, url: string, headers: Record<string, string> = {}) {
  return app.app.handle(new Request(url, { headers }))
}

async function filesOf(app: TestApp): Promise<string[]> {
  const folder = join(app.dataDir, 'files')
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}
