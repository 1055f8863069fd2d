import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { createIdempotencyStore } from '../../../src/features/attachments/upload/idempotency.ts'
import type { Row } from '../../../src/features/attachments/upload/prepare-upload.ts'
import { createQuota } from '../../../src/features/attachments/upload/quota.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { fetchFile, filesOf, PATH, uploadBody } from '../../support/attachments.ts'
import { fault } from '../../support/fault.ts'
import { phonePhoto } from '../../support/pictures.ts'

test(`accepts the last file or byte within the quota and refuses the next ${fault(115)}`, async () => {
  await using app = await createTestApp({
    ATTACHMENT_QUOTA_COUNT: '3',
    ATTACHMENT_QUOTA_BYTES: '100',
  })
  const { accessToken: token } = await app.register()
  const send = async (size: number) => {
    const { status, json } = await uploadBody(
      app,
      token,
      'x'.repeat(size),
      'text/plain',
      'supportTicket',
    )
    return [status, json.code]
  }
  expect(await send(60)).toEqual([200, 'ok'])
  expect(await send(41)).toEqual([403, 'quota_exceeded'])
  expect(await send(39)).toEqual([200, 'ok'])
  expect(await send(1)).toEqual([200, 'ok'])
  expect(await send(1)).toEqual([403, 'quota_exceeded'])
  expect(await filesOf(app)).toHaveLength(3)
  const other = await app.register()
  const elsewhere = await uploadBody(app, other.accessToken, 'x', 'text/plain', 'supportTicket')
  expect(elsewhere.status).toBe(200)
})

test(`parallel uploads cannot exceed the quota together ${fault(115)}`, async () => {
  await using app = await createTestApp({ ATTACHMENT_QUOTA_COUNT: '3' })
  const { accessToken: token } = await app.register()
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => uploadBody(app, token, 'x', 'text/plain', 'supportTicket')),
  )
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(3)
  expect(await filesOf(app)).toHaveLength(3)
})

test('a repeated idempotency key returns the first response and stores nothing', async () => {
  await using app = await createTestApp()
  const { accessToken: token, user } = await app.register()
  const send = (key: string, as = token) =>
    uploadBody(app, as, 'text', 'text/plain', 'supportTicket', { 'idempotency-key': key })
  const first = await send('k-1')
  const again = await send('k-1')
  expect(again.json.response[0].key).toBe(first.json.response[0].key)
  const together = await Promise.all(Array.from({ length: 5 }, () => send('k-2')))
  expect(new Set(together.map(({ json }) => json.response[0].key)).size).toBe(1)
  expect(await filesOf(app)).toHaveLength(2)
  const other = await app.register()
  expect((await send('k-1', other.accessToken)).json.response[0].key).not.toBe(
    first.json.response[0].key,
  )
  for (const key of ['two words', 'x'.repeat(65), 'ü']) {
    expect([key, (await send(encodeURI(key) === key ? key : 'two words')).status]).toEqual([
      key,
      400,
    ])
  }
  expect((await send('x'.repeat(64))).status).toBe(200)
  app.clock.advance(24 * 3_600_000 + 1)
  const login = await app.ask('POST', '/api/auth/login/v1', {
    json: { email: user.email, password: 'correct horse battery' },
  })
  const late = await send('k-1', login.json.response.accessToken)
  expect(late.json.response[0].key).not.toBe(first.json.response[0].key)
})

test('keeps the responses to the last 100 uploads of a user', async () => {
  await using app = await createTestApp()
  for (let at = 0; at < 2; at++) await app.register()
  const { db } = app.services
  const { users } = db.tables
  const [ann = '', bob = ''] = (await db.read.select().from(users)).map(({ id }) => id)
  let time = 0
  let stored = 0
  const idempotency = createIdempotencyStore({ db, now: () => new Date(++time) })
  const upload = (userId: string, key: string) =>
    idempotency.once(userId, key, 'fingerprint', async (recordReply) => {
      stored++
      await db.write((tx) => recordReply(tx, []))
      return []
    })
  await upload(bob, 'first')
  for (const key of ['first', ...Array(99).keys()]) await upload(ann, String(key))
  await upload(ann, 'first')
  expect(stored).toBe(101)
  await upload(ann, 'one more')
  expect(await db.read.$count(db.tables.uploadRetries)).toBe(101)
  await upload(bob, 'first')
  await upload(ann, '0')
  expect(stored).toBe(102)
  await upload(ann, 'first')
  expect(stored).toBe(103)
})

test('refuses a different upload with the same key, whether concurrent or later', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const send = (body: string, type = 'supportTicket') =>
    uploadBody(app, token, body, 'text/plain', type, { 'idempotency-key': 'k' })
  const together = await Promise.all([send('one'), send('two')])
  expect(together.map(({ status }) => status).toSorted()).toEqual([200, 422])
  const [won, lost] = together[0].status === 200 ? ['one', 'two'] : ['two', 'one']
  expect((await send(won)).status).toBe(200)
  const refused = await send(lost)
  expect(refused.json).toMatchObject({
    code: 'validation_failed',
    details: [{ path: 'Idempotency-Key', message: 'was used for another upload' }],
  })
  expect((await send(won, 'publicAsset')).status).toBe(422)
  expect(await filesOf(app)).toHaveLength(1)
})

test('a failed upload can be retried with the same key', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const headers = { 'idempotency-key': 'k' }
  expect(
    (await uploadBody(app, token, 'not an image', 'image/jpeg', 'publicAsset', headers)).status,
  ).toBe(415)
  const photo = await phonePhoto()
  expect((await uploadBody(app, token, photo, 'image/jpeg', 'publicAsset', headers)).status).toBe(
    200,
  )
})

test('others’ variant requests use up the owner’s quota; uploads evict the variants', async () => {
  const photo = await phonePhoto(300, 200)
  const quota = photo.length * 2
  await using app = await createTestApp({ ATTACHMENT_QUOTA_BYTES: String(quota) })
  const { accessToken: token } = await app.register()
  const { json } = await uploadBody(app, token, photo, 'image/jpeg', 'publicAsset')
  const { url, key } = json.response[0]
  const statuses = await requestAllVariants(app, url)
  expect(new Set(statuses)).toEqual(new Set([200, 507]))
  expect(await bytesOnDisk(app)).toBeLessThanOrEqual(quota)
  const { size } = (await app.ask('GET', `${PATH}/download?key=${key}`, { token })).json.response
  const rest = await uploadBody(app, token, 'x'.repeat(quota - size), 'text/plain', 'supportTicket')
  expect(rest.status).toBe(200)
  expect(await bytesOnDisk(app)).toBe(quota)
  expect((await fetchFile(app, `${url}?width=64`)).status).toBe(507)
  expect((await uploadBody(app, token, 'x', 'text/plain', 'supportTicket')).status).toBe(403)
})

test('variants of one image take at most 8 MiB; the largest are evicted first', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const { json } = await uploadBody(app, token, await phonePhoto(), 'image/jpeg', 'publicAsset')
  const { db } = app.services
  const { attachments, variants } = db.tables
  const [row] = await db.read.select().from(attachments)
  const quota = createQuota({ db, maxBytes: 2 ** 30, maxCount: 10 })
  const take = (key: string, mebibytes: number) =>
    db.write((tx) => {
      const size = mebibytes * 2 ** 20
      return quota.storeVariant(tx, row as Row, { key, original: json.response[0].key, size })
    })
  expect([await take('a', 1), await take('b', 5), await take('c', 2)]).toEqual([[], [], []])
  expect(await take('d', 1)).toEqual(['b'])
  expect((await db.read.select().from(variants)).map(({ key }) => key).toSorted()).toEqual([
    'a',
    'c',
    'd',
  ])
  await expect(take('e', 9)).rejects.toThrow('storage space')
})

/** Requests an image in all widths and formats. */
async function requestAllVariants(app: TestApp, url: string) {
  const statuses: number[] = []
  for (const width of [64, 256, 512, 1024]) {
    const formats = ['webp', 'jpeg', 'png']
    const ask = (format: string) => fetchFile(app, `${url}?width=${width}&format=${format}`)
    statuses.push(...(await Promise.all(formats.map(ask))).map(({ status }) => status))
  }
  return statuses
}

async function bytesOnDisk(app: TestApp): Promise<number> {
  const paths = (await filesOf(app)).map((name) =>
    join(app.dataDir, 'files', name.slice(0, 1), name),
  )
  return paths.reduce((sum, path) => sum + Bun.file(path).size, 0)
}
