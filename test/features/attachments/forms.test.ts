import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { fetchFile, PATH, uploadBody } from '../../support/attachments.ts'

const BOUNDARY = 'xYzBoundary'

test.each([
  ['a plain file name', part('a', 'filename="plain.txt"'), 'plain.txt'],
  [
    'an encoded name after a quoted one',
    part('a', `filename="x.txt"; filename*=UTF-8''%E2%82%AC%20rate.txt`),
    '€ rate.txt',
  ],
  [
    'an encoded name before a quoted one',
    part('a', `filename*=UTF-8''%E2%82%AC.txt; filename="x.txt"`),
    '€.txt',
  ],
  ['an encoded name alone', part('a', `filename*=utf-8''b%C3%BCro.txt`), 'büro.txt'],
  ['a semicolon in a quoted name', part('a', 'filename="a;b.txt"'), 'a;b.txt'],
  [
    'a base64 part',
    part('YQ==', 'filename="b.txt"', 'Content-Transfer-Encoding: base64\r\n'),
    'b.txt',
  ],
  [
    'white space after the boundary',
    part('a', 'filename="c.txt"').replace(`--${BOUNDARY}\r\n`, `--${BOUNDARY} \t\r\n`),
    'c.txt',
  ],
  [
    'sixty text fields before the file',
    `${Array.from({ length: 60 }, (_, at) => part('v', '', '', `f${at}`)).join('')}${part('a', 'filename="d.txt"')}`,
    'd.txt',
  ],
])('reads a form with %s', async (_what, parts, fileName) => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const reply = await sendForm(app, token, parts)
  expect([reply.status, reply.json.response?.[0].fileName]).toEqual([200, fileName])
  const details = await app.ask('GET', `${PATH}/download?key=${reply.json.response[0].key}`, {
    token,
  })
  expect(await (await fetchFile(app, details.json.response.url)).text()).toBe('a')
})

test('decodes base64 in lines and refuses other transfer encodings', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const text = 'Grüße '.repeat(20_000)
  const lines = Buffer.from(text).toString('base64').replace(/.{76}/g, '$&\r\n')
  const head = 'Content-Transfer-Encoding: BASE64\r\n'
  const reply = await sendForm(app, token, part(lines, 'filename="e.txt"', head))
  const details = await app.ask('GET', `${PATH}/download?key=${reply.json.response[0].key}`, {
    token,
  })
  expect(await (await fetchFile(app, details.json.response.url)).text()).toBe(text)
  const quoted = head.replace('BASE64', 'quoted-printable')
  const refused = await sendForm(app, token, part('a', 'filename="f.txt"', quoted))
  expect([refused.status, refused.json.message]).toEqual([
    415,
    'Send the parts of the form without a Content-Transfer-Encoding, or as base64.',
  ])
})

test('states the maximum number of parts when a form has too many', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const fields = Array.from({ length: 1_001 }, () => part('v', '')).join('')
  const reply = await sendForm(app, token, fields)
  expect([reply.status, reply.json.message]).toEqual([
    422,
    'A form must not have more than 1000 parts.',
  ])
})

test.each([
  ['UTF-8 bytes', Buffer.from('Büro €.txt').toString('latin1'), 'Büro €.txt'],
  ['Latin-1', 'Büro.txt', 'Büro.txt'],
  ['percent-encoding', 'B%C3%BCro%20%E2%82%AC.txt', 'Büro €.txt'],
])('reads X-File-Name in %s', async (_what, header, fileName) => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const reply = await uploadBody(app, token, 'a', 'text/plain', 'supportTicket', {
    'x-file-name': header,
  })
  expect(reply.json.response[0].fileName).toBe(fileName)
})

test.each([
  ['UTF-8', Buffer.from('Grüße'), 'a.txt', 'text/plain; charset=utf-8'],
  [
    'Windows-1252',
    Buffer.from('Gr\xfc\xdfe', 'latin1'),
    'a.txt',
    'text/plain; charset=windows-1252',
  ],
  ['UTF-16', Buffer.from('\ufeffGrüße', 'utf16le'), 'a.txt', 'text/plain; charset=utf-16le'],
  ['a PDF after a line feed', Buffer.from('\n%PDF-1.4\n1 0 obj\n'), 'a.pdf', 'application/pdf'],
])('serves %s with its media type', async (_what, content, fileName, type) => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const sent = { 'x-file-name': 'a.txt' }
  const upload = await uploadBody(app, token, content, 'text/plain', 'supportTicket', sent)
  expect(upload.json.response[0].fileName).toBe(fileName)
  const file = await fetchFile(app, upload.json.response[0].url)
  expect(file.headers.get('content-type')).toBe(type)
  expect(Buffer.from(await file.bytes())).toEqual(content)
})

test('a format without a width is refused with the reason', async () => {
  await using app = await createTestApp()
  const { status, json } = await app.ask('GET', '/files/x.jpg?format=webp')
  expect([status, json.message]).toEqual([
    422,
    'Also specify a width: `format` applies only to variants.',
  ])
})

function part(content: string, fileName: string, headers = '', name = 'file'): string {
  const disposition = `form-data; name="${name}"${fileName && '; '}${fileName}`
  return `--${BOUNDARY}\r\nContent-Disposition: ${disposition}\r\n${headers}\r\n${content}\r\n`
}

function sendForm(app: TestApp, token: string, parts: string) {
  const headers = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` }
  const body = `${parts}--${BOUNDARY}--\r\n`
  return app.ask('POST', `${PATH}?type=supportTicket`, { token, body, headers })
}
