import { expect, test } from 'bun:test'
import { sha256 } from '../../../src/lib/crypto/hash.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { fault } from '../../support/fault.ts'
import { messagesFor } from '../../support/messages.ts'
import { rawRequest } from '../../support/raw-request.ts'

const PROFILE = '/api/user/profile/v1'
const VERSION = '/api/user/content_version/v1'
/** Host headers with which Bun's router, Elysia's router and our code may see different paths. */
const HOSTS = [
  '',
  'a',
  'abc',
  'a/b',
  'a\\b',
  'u@h',
  'x#',
  'x?',
  'x y',
  '{',
  'a|b',
  '<',
  '"',
  'localhost',
]

/** Starts the app on a real port, because only real connections pass through all routers. */
function listen({ app }: TestApp) {
  const server = app.listen({ port: 0, hostname: '127.0.0.1' }).server as Bun.Server<unknown>
  const ask = async (method: string, target: string, lines: string[], version = '1.1') => {
    const head = [`${method} ${target} HTTP/${version}`, ...lines]
    const reply = await rawRequest(server.port ?? 0, `${head.join('\r\n')}\r\n`)
    return { status: Number(reply.slice(9, 12)), text: reply }
  }
  return { ask, [Symbol.asyncDispose]: () => server.stop(true) }
}

test(`a protected route never counts as public, whatever its Host and path ${fault(127)}`, async () => {
  await using app = await createTestApp({ PAYLOAD_ENCRYPTION: 'required' })
  await using server = listen(app)
  const targets = ['/files', '/docs', '/a/docs', '/a/files', '/x#/docs', '/.well-known', '/docs/..']
    .flatMap((prefix) => [`${prefix}${VERSION}`, `/a${prefix}${VERSION}`])
    .concat([`/health?${VERSION}`, `/a/health?${VERSION}`, `//x${VERSION}`, `/docs?xx${VERSION}`])
  for (const host of HOSTS) {
    for (const target of targets) {
      const { status, text } = await server.ask('GET', target, [`Host: ${host}`])
      expect([host, target, text.includes('appSetting')]).toEqual([host, target, false])
      expect([host, target, status < 500]).toEqual([host, target, true])
    }
  }
  const withoutHost = await server.ask('POST', '/a/docs/api/auth/guest/v1', [], '1.0')
  expect(withoutHost.text).not.toContain('accessToken')
})

test(`a message is not valid for another path, whatever the Host ${fault(123)}`, async () => {
  await using app = await createTestApp()
  await using server = listen(app)
  const { accessToken: at, user } = await app.register()
  const { seal } = await messagesFor(app)
  const ath = sha256(at)
  const sealed = '/api/user/attachments/v1?key=abc'
  for (const version of ['1.0', '1.1']) {
    for (const host of HOSTS) {
      const payload = seal({ head: { htm: 'DELETE', htu: sealed, ath, at } })
      const lines = ['env: production', `Payload: ${payload}`]
      if (version === '1.1' || host !== '') lines.unshift(`Host: ${host}`)
      const moved = await server.ask('DELETE', `${PROFILE}?//x${sealed}`, lines, version)
      expect([host, moved.status]).toEqual([host, 400])
    }
  }
  expect(await app.services.profile.read(user._id, '')).toMatchObject({ _id: user._id })
})

test('answers a health probe without a Host header', async () => {
  await using app = await createTestApp({ PAYLOAD_ENCRYPTION: 'required' })
  await using server = listen(app)
  for (const path of ['/health', '/ready']) {
    expect((await server.ask('GET', path, [], '1.0')).status).toBe(200)
  }
  expect((await server.ask('GET', VERSION, [], '1.0')).status).toBe(400)
})
