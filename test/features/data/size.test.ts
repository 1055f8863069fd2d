import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { expectFailure } from '../../support/failure.ts'
import { serveApp } from '../../support/served.ts'

const PATH = '/api/user/data/v1'

test('a sealed document may be as large as a plain one', async () => {
  await using app = await createTestApp({}, { mode: 'sealed' })
  const { accessToken: token } = await app.register()
  const escaped = JSON.stringify({ text: '\u044f'.repeat(30_000) }).replaceAll('\u044f', '\\u044f')
  const headers = { 'content-type': 'application/json' }
  expect((await app.ask('PUT', PATH, { token, body: escaped, headers })).status).toBe(200)
})

test('a long document is not compressed', async () => {
  await using app = await createTestApp()
  await using served = serveApp(app)
  const { accessToken: token } = await app.register()
  const json = { notes: 'x'.repeat(20_000) }
  expect((await app.ask('PUT', PATH, { token, json })).status).toBe(200)
  const headers = { authorization: `Bearer ${token}`, 'accept-encoding': 'br, gzip' }
  const reply = await fetch(`${served.url}${PATH}`, { headers, decompress: false })
  expect([reply.status, reply.headers.get('content-encoding')]).toEqual([200, null])
})

test('refuses numbers beyond a double, which would be stored as null', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const headers = { 'content-type': 'application/json' }
  for (const number of ['1e999', '-1e999']) {
    const body = `{"total":[${number}]}`
    expectFailure(await app.ask('PUT', PATH, { token, body, headers }), 422)
  }
})
