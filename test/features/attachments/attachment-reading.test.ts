import { expect, test } from 'bun:test'
import { parseRange } from '../../../src/features/attachments/storage/serve.ts'
import { cleanName } from '../../../src/features/attachments/upload/prepare-upload.ts'
import { createTestApp } from '../../support/app.ts'
import { fetchFile, filesOf, PATH, uploadForm } from '../../support/attachments.ts'
import { fault } from '../../support/fault.ts'

test(`no file name or key gives access to anything outside the files folder ${fault(53, 112)}`, async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const reply = await uploadForm(app, token, [['../../../etc/passwd', 'text']], {
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

test(`returns 404 to requests for another user’s files ${fault(76)}`, async () => {
  await using app = await createTestApp()
  const owner = await app.register()
  const { accessToken: token } = await app.register()
  const reply = await uploadForm(app, owner.accessToken, [['a.txt', 'mine']], {
    type: 'supportTicket',
  })
  const { key } = reply.json.response[0]
  for (const [method, path] of [
    ['GET', `${PATH}/download`],
    ['DELETE', PATH],
  ] as const) {
    const notOwned = await app.ask(method, `${path}?key=${key}`, { token })
    const unknown = await app.ask(method, `${path}?key=${'a'.repeat(26)}.txt`, { token })
    expect(notOwned.status).toBe(404)
    expect({ ...notOwned.json, requestId: '' }).toEqual({ ...unknown.json, requestId: '' })
  }
  expect(await filesOf(app)).toHaveLength(1)
  const deletion = await app.ask('DELETE', `${PATH}?key=${key}`, { token: owner.accessToken })
  expect(deletion.json).toEqual({ code: 'ok', message: 'The file has been deleted.' })
  expect(await filesOf(app)).toEqual([])
})

test('serves a file to range, HEAD and If-None-Match requests', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const reply = await uploadForm(app, token, [['a.txt', '0123456789']], { type: 'supportTicket' })
  const { url } = reply.json.response[0]
  const part = await fetchFile(app, url, { range: 'bytes=2-4' })
  expect([part.status, await part.text()]).toEqual([206, '234'])
  expect(part.headers.get('content-range')).toBe('bytes 2-4/10')
  const beyond = await fetchFile(app, url, { range: 'bytes=10-' })
  expect([beyond.status, beyond.headers.get('cache-control')]).toEqual([416, 'no-store'])
  const head = await app.app.handle(
    new Request(url, { method: 'HEAD', headers: { range: 'bytes=2-4' } }),
  )
  expect([head.status, head.headers.get('content-range')]).toEqual([200, null])
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
  ['Bytes = 2 - 3', { first: 2, last: 3 }],
  [`bytes=${'9'.repeat(20)}-`, 'unsatisfiable'],
  ['bytes=5-4', null],
  ['bytes=0-1,3-4', null],
  ['bytes=-', null],
  ['bytes=a-b', null],
  ['lines=0-1', null],
] as const)(`parses the range %s for a file of 10 bytes ${fault(118)}`, (header, expected) => {
  expect(parseRange(header, 10)).toEqual(expected)
})

test.each([
  ['an extension', 'photo.JPG', 'photo.webp'],
  ['a path', '../../x', 'x.webp'],
  ['a Windows path', 'C:\\Users\\me\\pic.png', 'pic.webp'],
  ['a line break', 'a\r\nSet-Cookie: x=1.png', 'aSet-Cookie: x=1.webp'],
  ['a right-to-left mark', '\u202egnp.exe', 'gnp.webp'],
  ['a dot in a sentence', 'Nr. 5 vom 3. Mai', 'Nr. 5 vom 3. Mai.webp'],
  ['a joiner that Persian needs', 'می\u200cخواهم.jpg', 'می\u200cخواهم.webp'],
  ['a leading dot', '.htaccess', 'htaccess.webp'],
  ['only dots', '..', 'file.webp'],
  ['no characters', '', 'file.webp'],
  ['an emoji and quotes', '🙂 "quoted".jpg', '🙂 "quoted".webp'],
  ['5,000 characters', `${'x'.repeat(5_000)}.jpg`, `${'x'.repeat(100)}.webp`],
])(`sanitizes a file name with %s ${fault(113)}`, (_what, name, sanitized) => {
  expect(cleanName(name, 'webp')).toBe(sanitized)
})

test(`a hostile file name cannot break out of the Content-Disposition header ${fault(113)}`, async () => {
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
