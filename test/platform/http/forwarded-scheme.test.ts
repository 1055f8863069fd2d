import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { PATH } from '../../support/attachments.ts'
import { serveApp } from '../../support/served.ts'

const HTTPS = { 'x-forwarded-proto': 'https' }

test.each([
  ['a trusted proxy', { TRUSTED_PROXIES: '127.0.0.1' }, HTTPS, 'https://'],
  [
    'proxies in a row',
    { TRUSTED_PROXIES: '127.0.0.1' },
    { 'x-forwarded-proto': 'HTTPS, http' },
    'https://',
  ],
  [
    'a proxy without TLS',
    { TRUSTED_PROXIES: '127.0.0.1' },
    { 'x-forwarded-proto': 'http' },
    'http://',
  ],
  ['an untrusted peer', {}, HTTPS, 'http://'],
  ['another proxy', { TRUSTED_PROXIES: '192.0.2.1' }, HTTPS, 'http://'],
  [
    'a trusted proxy with a BASE_URL',
    { TRUSTED_PROXIES: '127.0.0.1', BASE_URL: 'http://files.test' },
    HTTPS,
    'http://files.test/',
  ],
])('file URLs have the scheme that the client used: %s', async (_who, env, headers, start) => {
  await using app = await createTestApp(env)
  await using served = serveApp(app)
  const { accessToken } = await app.register()
  const sent = { ...headers, authorization: `Bearer ${accessToken}` }
  const upload = await fetch(`${served.url}${PATH}?type=supportTicket`, {
    method: 'POST',
    headers: { ...sent, 'content-type': 'text/plain', 'x-file-name': 'a.txt' },
    body: 'text',
  })
  expect(((await upload.json()) as Reply).response[0]?.url).toStartWith(start)
  const list = (await (await served.ask(PATH, sent)).json()) as Reply
  expect(list.response[0]?.url).toStartWith(start)
})

type Reply = { response: { url: string }[] }
