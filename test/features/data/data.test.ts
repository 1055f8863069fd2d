import { describe, expect, test } from 'bun:test'
import { MAX_DOCUMENT_BYTES } from '../../../src/features/data/service.ts'
import { type Ask, createTestApp, type Mode, PASSWORD, type TestApp } from '../../support/app.ts'

const PATH = '/api/user/data/v1'
const EMPTY_VERSION = 'RBNvo1WzZ4oRRq0W9-hknp'

describe.each<Mode>(['plain', 'sealed'])('%s:', (mode) => {
  test('a user without documents has empty ones with a stable version', async () => {
    await using app = await createTestApp({}, { mode })
    const first = await dataOf(app).get()
    expect(first.json.response).toEqual({
      data: {},
      version: EMPTY_VERSION,
      updatedAt: null,
      serverData: {},
      serverVersion: EMPTY_VERSION,
    })
    expect((await dataOf(app).get()).text).toBe(first.text)
  })

  test('stores a replaced document, and changes its members with a patch', async () => {
    await using app = await createTestApp({}, { mode })
    const { get, put, patch } = dataOf(app, await app.register())
    const { response } = (await put({ theme: 'dark', list: [1, 2], a: { b: 1, c: 2 } })).json
    expect(response).toMatchObject({ updatedAt: app.clock.now.toISOString(), serverData: {} })
    const patched = await patch({ theme: null, list: [3], a: { b: null, d: {} }, new: true })
    const data = { list: [3], a: { c: 2, d: {} }, new: true }
    expect(patched.json.response.data).toEqual(data)
    expect(patched.json.response.version).not.toBe(response.version)
    expect((await get()).text).toBe(patched.text)
  })

  test('a change based on another version is refused with 412, and nothing is stored', async () => {
    await using app = await createTestApp({}, { mode })
    const { get, put, patch } = dataOf(app, await app.register())
    const { version } = (await put({ count: 1 }, `?version=${EMPTY_VERSION}`)).json.response
    const changes = [put({ count: 2 }, `?version=${version}`), put({}, `?version=${version}`)]
    const statuses = (await Promise.all(changes)).map(({ status }) => status)
    expect(statuses.toSorted()).toEqual([200, 412])
    const late = await patch({ count: 3 }, `?version=${version}`)
    expect([late.status, late.json.code]).toEqual([412, 'precondition_failed'])
    expect((await get()).json.response.data.count).not.toBe(3)
  })
})

test('the ETag works in If-Match and If-None-Match', async () => {
  await using app = await createTestApp()
  const user = await app.register()
  const { get, put, patch } = dataOf(app, user)
  const first = await get()
  const etag = first.headers.get('etag') ?? ''
  expect(first.headers.get('cache-control')).toBe('private, max-age=0')
  expect((await get({ headers: { 'if-none-match': etag } })).status).toBe(304)
  const stored = await put({ a: 1 }, '', { headers: { 'if-match': etag } })
  expect(stored.status).toBe(200)
  const next = stored.headers.get('etag') ?? ''
  expect((await get()).headers.get('etag')).toBe(next)
  expect((await get({ headers: { 'if-none-match': etag } })).status).toBe(200)
  for (const [tag, status] of [
    [etag, 412],
    ['"other"', 412],
    ['nonsense', 412],
    ['*', 200],
    [next, 200],
    [`"other", ${next}`, 200],
    [`W/${next}`, 200],
    [`"${stored.json.response.version}"`, 200],
  ] as const) {
    const reply = await patch({ a: 1 }, '', { headers: { 'if-match': tag } })
    expect([tag, reply.status]).toEqual([tag, status])
  }
})

describe.each<Mode>(['plain', 'sealed'])('%s:', (mode) => {
  test('If-None-Match: * stores only the first document, and an empty If-Match matches nothing', async () => {
    await using app = await createTestApp({}, { mode })
    const { get, put, patch } = dataOf(app, await app.register())
    const first = { headers: { 'if-none-match': '*' } }
    const { version } = (await put({ a: 1 }, '', first)).json.response
    const refusals = [
      await put({ a: 2 }, '', first),
      await patch({ a: 2 }, '', first),
      await put({ a: 2 }, `?version=${version}`, first),
      await patch({ a: 2 }, '', { headers: { 'if-none-match': `"other", "${version}.x"` } }),
      await put({ a: 2 }, '', { headers: { 'if-match': '' } }),
      await patch({ a: 2 }, '', { headers: { 'if-match': ' ' } }),
    ]
    expect(refusals.map(({ status }) => status)).toEqual([412, 412, 412, 412, 412, 412])
    expect((await get()).json.response.data).toEqual({ a: 1 })
    const other = { headers: { 'if-none-match': '"other"' } }
    expect((await put({}, '', other)).status).toBe(200)
    // An emptied document still exists.
    expect((await put({ a: 3 }, '', first)).status).toBe(412)
  })

  test('a merge patch may have its own media type', async () => {
    await using app = await createTestApp({}, { mode })
    const { put, patch } = dataOf(app, await app.register())
    const headers = { 'content-type': 'application/merge-patch+json; charset=utf-8' }
    expect((await patch({ a: 1 }, '', { headers })).status).toBe(200)
    expect((await put({ a: 1 }, '', { headers })).status).toBe(415)
  })
})

test('server data changes the ETag, but not the version that the app’s changes depend on', async () => {
  await using app = await createTestApp()
  const user = await app.register()
  const { get, put } = dataOf(app, user)
  const before = await get()
  const { documents } = app.services
  await documents.replaceServerData(user.user._id, { score: 1 })
  await documents.patchServerData(user.user._id, { level: 2 })
  const after = await get()
  expect(after.json.response).toMatchObject({ data: {}, serverData: { score: 1, level: 2 } })
  expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'))
  const etag = before.headers.get('etag') ?? ''
  expect((await put({ a: 1 }, '', { headers: { 'if-match': etag } })).status).toBe(200)
})

test('server data has versions too, and requires an existing user', async () => {
  await using app = await createTestApp()
  const { documents } = app.services
  const id = (await app.register()).user._id
  const { version } = await documents.readServerData(id)
  await documents.replaceServerData(id, { score: 1 }, { accepted: [version], refused: [] })
  for (const late of [
    () => documents.replaceServerData(id, {}, { accepted: [version], refused: [] }),
    () => documents.patchServerData(id, {}, { accepted: [version], refused: [] }),
  ]) {
    await expect(late()).rejects.toMatchObject({ code: 'precondition_failed' })
  }
  for (const unknown of [
    () => documents.readServerData('none'),
    () => documents.replaceServerData('none', {}),
    () => documents.patchServerData('none', {}),
  ]) {
    await expect(unknown()).rejects.toMatchObject({ code: 'not_found' })
  }
})

test('concurrent patches to different members are all kept', async () => {
  await using app = await createTestApp()
  const { get, patch } = dataOf(app, await app.register())
  const names = Array.from({ length: 20 }, (_, at) => `member ${at}`)
  const replies = await Promise.all(names.map((name) => patch({ [name]: { [name]: 1 } })))
  expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]))
  expect(Object.keys((await get()).json.response.data).toSorted()).toEqual(names.toSorted())
})

test('a document may have 64 KiB as JSON in UTF-8, however long its body is', async () => {
  await using app = await createTestApp()
  const user = await app.register()
  const { put, patch, get } = dataOf(app, user)
  const full = { text: 'é'.repeat((MAX_DOCUMENT_BYTES - '{"text":""}'.length - 1) / 2) }
  const escaped = JSON.stringify(full).replaceAll('é', '\\u00e9')
  const headers = { 'content-type': 'application/json' }
  expect((await put(undefined, '', { body: escaped, headers })).status).toBe(200)
  const more = await patch({ a: 12345 })
  expect([more.status, more.json.code]).toEqual([413, 'payload_too_large'])
  expect((await get()).json.response.data).toEqual(full)
  expect((await patch({ text: null, a: 1 })).json.response.data).toEqual({ a: 1 })
})

test('members named like JavaScript’s built-in ones are ordinary members', async () => {
  await using app = await createTestApp()
  const { put, patch } = dataOf(app, await app.register())
  const headers = { 'content-type': 'application/json' }
  const body = '{"__proto__":{"polluted":true},"constructor":{"a":1},"toString":"x"}'
  const stored = await put(undefined, '', { body, headers })
  expect(stored.text).toContain(`"data":${body}`)
  const merged = await patch(undefined, '', { body: '{"__proto__":{"more":1}}', headers })
  expect(merged.text).toContain('"__proto__":{"polluted":true,"more":1}')
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
})

test('a document that is nested too deeply is refused', async () => {
  await using app = await createTestApp()
  const { patch } = dataOf(app, await app.register())
  const body = `{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`
  const headers = { 'content-type': 'application/json' }
  expect((await patch(undefined, '', { body, headers })).status).toBe(400)
})

test('an account keeps its own members and gets those that only the guest has', async () => {
  await using app = await createTestApp()
  const email = 'ann@example.com'
  const account = await app.register(email)
  await dataOf(app, account).put({ theme: 'dark', mine: { a: 1 } })
  const guest = (await app.ask('POST', '/api/auth/guest/v1')).json.response
  const big = 'x'.repeat(MAX_DOCUMENT_BYTES - 40)
  await dataOf(app, guest).put({ theme: 'light', mine: { b: 2 }, cart: [1] })
  await app.services.documents.replaceServerData(guest.user._id, { score: 1 })
  await signInWith(app, guest.accessToken, email)
  const { response } = (await dataOf(app, account).get()).json
  expect(response.data).toEqual({ theme: 'dark', mine: { a: 1 }, cart: [1] })
  expect(response.serverData).toEqual({ score: 1 })

  const other = (await app.ask('POST', '/api/auth/guest/v1')).json.response
  await dataOf(app, other).put({ big, small: true })
  await signInWith(app, other.accessToken, email)
  const merged = (await dataOf(app, account).get()).json.response.data
  expect(merged).toEqual({ theme: 'dark', mine: { a: 1 }, cart: [1], small: true })
})

test('the documents are exported, and deleted with the account', async () => {
  await using app = await createTestApp()
  const user = await app.register()
  const { put, get } = dataOf(app, user)
  await put({ a: 1 })
  const { accessToken: token } = user
  const exported = (await app.ask('GET', '/api/user/export/v1', { token })).json.response
  const updatedAt = app.clock.now.toISOString()
  expect(exported.data).toEqual([{ author: 'app', content: { a: 1 }, updatedAt }])
  await app.ask('DELETE', '/api/user/profile/v1', { token })
  expect((await get()).status).toBe(401)
  expect(await app.services.db.read.$count(app.services.db.tables.userDocuments)).toBe(0)
})

type User = Pick<Awaited<ReturnType<TestApp['register']>>, 'accessToken'>

/** The requests from one user; by default, from a new one. */
function dataOf(app: TestApp, user?: User) {
  const ask = async (method: string, query = '', options: Ask = {}) => {
    const { accessToken: token } = user ?? (await app.register())
    return app.ask(method, PATH + query, { token, ...options })
  }
  return {
    get: (options?: Ask) => ask('GET', '', options),
    put: (json: unknown, query = '', options: Ask = {}) => ask('PUT', query, { json, ...options }),
    patch: (json: unknown, query = '', options: Ask = {}) =>
      ask('PATCH', query, { json, ...options }),
  }
}

async function signInWith(app: TestApp, token: string, email: string) {
  const json = { email, password: PASSWORD }
  const reply = await app.ask('POST', '/api/auth/login/v1', { token, json })
  expect(reply.status).toBe(200)
}
