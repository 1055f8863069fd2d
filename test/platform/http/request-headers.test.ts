import { expect, test } from 'bun:test'
import { decodedHeader, matchLanguage } from '../../../src/platform/http/request/request-headers.ts'
import { createTestApp } from '../../support/app.ts'
import { expectFailure } from '../../support/failure.ts'
import { rawRequest } from '../../support/raw-request.ts'
import { serveApp } from '../../support/served.ts'

test('matching many distinct language tags leaks no memory', () => {
  const available = ['en', 'de', 'pt-BR']
  const match = (from: number, to: number) => {
    for (let at = from; at < to; at++) matchLanguage([tagOf(at)], available, 'en')
  }
  match(0, 3_000)
  const before = heapBytes()
  match(3_000, 40_000)
  expect(heapBytes() - before).toBeLessThan(4e6)
})

test('matches languages across regions after any number of tags', () => {
  for (let at = 0; at < 3_000; at++) matchLanguage([tagOf(at)], ['en', 'de'], 'en')
  expect(matchLanguage(['pt-PT'], ['en', 'pt-BR'], 'en')).toBe('pt-BR')
  expect(matchLanguage(['de-CH'], ['en', 'de'], 'en')).toBe('de')
  expect(matchLanguage(['zh-TW'], ['en', 'zh-Hans', 'zh-Hant'], 'en')).toBe('zh-Hant')
  expect(matchLanguage(['nb-NO'], ['en', 'no'], 'en')).toBe('no')
  expect(matchLanguage(['fil-PH'], ['en', 'fil'], 'en')).toBe('fil')
})

test.each([
  ['Gr%C3%BC%C3%9Fe', 'Grüße'],
  [utf8AsLatin1('Ännchens Handy 📱'), 'Ännchens Handy 📱'],
  [utf8AsLatin1('100 % Grüße'), '100 % Grüße'],
  ['Gr\xfc\xdfe', 'Grüße'],
  ['Grüße 📱', 'Grüße 📱'],
  ['', ''],
])('reads the header %j as %j', (header, text) => {
  expect(decodedHeader(header)).toBe(text)
})

test('reads a device name in plain UTF-8, as it is sent', async () => {
  await using app = await createTestApp()
  await using served = serveApp(app)
  const head = [
    'POST /api/auth/guest/v1 HTTP/1.1',
    'Host: x',
    `Device: Jürgens Telefon`,
    'Content-Length: 0',
    'Connection: close',
    '',
  ]
  await rawRequest(Number(new URL(served.url).port), head.map((line) => `${line}\r\n`).join(''))
  const { sessions } = app.services.db.tables
  const [row] = await app.services.db.read.select().from(sessions)
  expect(row?.device).toBe('Jürgens Telefon')
})

test('accepts several spaces after the scheme of an access token', async () => {
  await using app = await createTestApp()
  const { accessToken } = await app.register()
  const ask = (authorization: string) =>
    app.ask('GET', '/api/user/profile/v1', { headers: { authorization } })
  expect((await ask(`Bearer  ${accessToken}`)).status).toBe(200)
  expect((await ask(`bearer    ${accessToken}`)).status).toBe(200)
  for (const refused of [
    `Bearer${accessToken}`,
    `Bearer ${accessToken} x`,
    'Bearer  ',
    `Bearer\t${accessToken}`,
  ])
    expectFailure(await ask(refused), 401)
})

test('the response to a PATCH with another content type names the accepted one', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  for (const path of ['/api/user/profile/v1', '/api/auth/password/v1']) {
    const headers = { 'content-type': 'text/plain' }
    const reply = await app.ask('PATCH', path, { token, headers, body: '{}' })
    expectFailure(reply, 415)
    expect([path, reply.headers.get('accept-patch')]).toEqual([path, 'application/json'])
  }
  const post = await app.ask('POST', '/api/auth/login/v1', { body: '{}' })
  expectFailure(post, 415)
  expect(post.headers.get('accept-patch')).toBeNull()
})

/** Text in UTF-8 as the HTTP parser delivers it. */
function utf8AsLatin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

function heapBytes(): number {
  Bun.gc(true)
  return process.memoryUsage().heapUsed
}

/** A well-formed language tag, such as `qkz-Abcd`. */
function tagOf(at: number): string {
  const letter = (place: number) => String.fromCharCode(97 + (Math.floor(at / 26 ** place) % 26))
  return `${letter(0)}${letter(1)}${letter(2)}-${letter(3).toUpperCase()}bcd`
}
