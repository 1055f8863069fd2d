import { expect, setSystemTime, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import sharp from 'sharp'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { startS3 } from '../../support/s3-server.ts'
import { until } from '../../support/until.ts'

const UPLOADS = '/api/user/attachments/v1?type=publicAsset'
const image = await sharp({
  create: { width: 300, height: 200, channels: 3, background: 'teal' },
})
  .png()
  .toBuffer()

test('uploads files to the store, serves and resizes them, and deletes them', async () => {
  await using setup = await startAppWithStore()
  const { app, s3, token, url } = setup
  expect(s3.stored()).toEqual([`files/${setup.key}`])
  const part = await app.ask('GET', url, { headers: { range: 'bytes=0-3' } })
  expect([part.status, part.headers.get('content-range')]).toEqual([
    206,
    expect.stringContaining('bytes 0-3/'),
  ])
  const smaller = await app.ask('GET', `${url}?width=64`)
  expect(smaller.status).toBe(200)
  expect(s3.stored()).toHaveLength(2)
  const removed = await app.ask('DELETE', `/api/user/attachments/v1?key=${setup.key}`, { token })
  expect(removed.status).toBe(200)
  expect(s3.stored()).toEqual([])
  expect((await app.ask('GET', url)).status).toBe(404)
})

test('uploads get 503 and leave no files while the store fails, and then work again', async () => {
  await using setup = await startAppWithStore()
  const { app, s3, token } = setup
  app.expectErrors()
  for (const fault of ['failing', 'slowDown'] as const) {
    s3.faults[fault] = 3
    const refused = await upload(app, token)
    expect([refused.status, refused.json.code]).toEqual([503, 'unavailable'])
    expect(refused.headers.get('retry-after')).toBe('5')
  }
  s3.faults.failing = 0
  s3.faults.slowDown = 0
  const { db } = app.services
  expect(await db.read.$count(db.tables.attachments)).toBe(1)
  expect(await readdir(join(app.dataDir, 'files', 'tmp'))).toEqual([])
  expect((await upload(app, token)).status).toBe(200)
  expect(s3.stored()).toHaveLength(2)
}, 60_000)

test.each([
  ['a read-only key', { refuses: 'AccessDenied' }, '403 AccessDenied'],
  ['a quota that is used up', { refuses: 'QuotaExceeded' }, '403 QuotaExceeded'],
  ['an endpoint that stores nothing', { forgets: true }, 'returned another ETag'],
])(
  'with %s, uploads get 503 and the server is not ready until the store works again',
  async (_, faults, reason) => {
    await using setup = await startAppWithStore()
    const { app, s3, token } = setup
    app.expectErrors()
    const readiness = async () => (await app.ask('GET', '/ready')).status
    expect(await readiness()).toBe(200)
    Object.assign(s3.faults, faults)
    expect((await upload(app, token)).status).toBe(503)
    await until(async () => (await readiness()) === 503, 'the failed upload is not noticed')
    expect((await app.services.serverState()).faults.storage).toContain(reason)
    Object.assign(s3.faults, { refuses: null, forgets: false })
    await until(async () => (await readiness()) === 200, 'the server does not become ready', {
      deadlineMs: 15_000,
    })
  },
  30_000,
)

test('an idle server is not ready while its store accepts no files', async () => {
  await using s3 = await startS3({
    bucket: 'homeport',
    accessKeyId: 'id',
    secretAccessKey: 'secret',
  })
  await using app = await createTestApp(variablesOf(s3.url))
  app.expectErrors()
  s3.faults.forgets = true
  const { status, json } = await app.ask('GET', '/ready')
  expect([status, json.storage, json.database]).toEqual([503, 'failing', 'ok'])
})

test('stores files in a bucket that encrypts with its own keys', async () => {
  await using setup = await startAppWithStore()
  setup.s3.faults.kms = 'f'.repeat(32)
  expect((await upload(setup.app, setup.token)).status).toBe(200)
})

test('removes objects without a row after an hour, and logs rows without an object', async () => {
  await using setup = await startAppWithStore()
  const { app, s3, key } = setup
  app.expectErrors()
  const bytes = Buffer.from('x')
  const orphan = `${'0'.repeat(26)}.txt`
  s3.objects.set(`files/${orphan}`, { bytes, lastModified: new Date(Date.now() - 2 * 3_600_000) })
  s3.objects.set('files/notes.txt', { bytes, lastModified: new Date(0) })
  await app.services.orphans.collect(AbortSignal.timeout(5_000))
  expect(s3.stored()).toEqual([`files/${key}`, 'files/notes.txt'].toSorted())
  s3.objects.delete(`files/${key}`)
  await Bun.$`rm -r ${join(app.dataDir, 'files', 'cache')} && mkdir ${join(app.dataDir, 'files', 'cache')}`
  await app.services.orphans.collect(AbortSignal.timeout(5_000))
  expect(app.lines.join('')).toContain('the file of an attachment is missing')
})

test('drops cached files deleted by another instance, two minutes after their last use', async () => {
  await using setup = await startAppWithStore()
  const { app, key } = setup
  const smaller = await app.ask('GET', `${setup.url}?width=64`)
  expect(smaller.status).toBe(200)
  const kept = (await upload(app, setup.token)).json.response[0].key
  const { db, orphans } = app.services
  const { attachments } = db.tables
  await db.write(async (tx) => void (await tx.delete(attachments).where(eq(attachments.key, key))))
  const copies = () => readdir(join(app.dataDir, 'files', 'cache'))
  await orphans.collectCopies()
  expect(await copies()).toHaveLength(3)
  setSystemTime(Date.now() + 121_000)
  await orphans.collectCopies()
  setSystemTime()
  expect(await copies()).toEqual([kept])
})

test('public files and avatars have CDN URLs, private files have URLs of this server', async () => {
  await using setup = await startAppWithStore({ FILES_PUBLIC_URL: 'https://cdn.example.com' })
  const { app, token, key } = setup
  const list = await app.ask('GET', '/api/user/attachments/v1', { token })
  const url = `https://cdn.example.com/files/${key}`
  expect(list.json.response[0].url).toBe(url)
  const json = { profile: { avatarKey: key } }
  const profile = await app.ask('PATCH', '/api/user/profile/v1', { token, json })
  expect(profile.json.response.profile.avatarUrl).toBe(url)
})

test('files without a row stay for 30 days after a restore', async () => {
  await using setup = await startAppWithStore()
  const { app, s3 } = setup
  const { db, files, orphans } = app.services
  await db.write(async (tx) => void (await tx.delete(db.tables.attachments)))
  await files.recordRestore()
  const collectIn = async (minutes: number) => {
    app.clock.advance(minutes * 60_000)
    await orphans.collect(AbortSignal.timeout(5_000))
    return [...s3.objects.keys()].includes(`files/${setup.key}`)
  }
  expect(await collectIn(61)).toBe(true)
  expect(await collectIn(30 * 24 * 60)).toBe(false)
})

function variablesOf(url: string) {
  return {
    FILES_URL: `s3://homeport/files?endpoint=${url}`,
    S3_ACCESS_KEY_ID: 'id',
    S3_SECRET_ACCESS_KEY: 'secret',
  }
}

/** An application with its own store, which contains one image. */
async function startAppWithStore(environment: Record<string, string> = {}) {
  const s3 = await startS3({ bucket: 'homeport', accessKeyId: 'id', secretAccessKey: 'secret' })
  const app = await createTestApp({ ...variablesOf(s3.url), ...environment })
  const { accessToken: token } = await app.register()
  const { json } = await upload(app, token)
  const { key } = json.response[0] as { key: string }
  return { s3, app, token, key, url: `/files/${key}`, [Symbol.asyncDispose]: dispose }

  async function dispose() {
    await app[Symbol.asyncDispose]()
    await s3[Symbol.asyncDispose]()
  }
}

function upload(app: TestApp, token: string) {
  return app.ask('POST', UPLOADS, {
    token,
    body: image,
    headers: { 'content-type': 'image/png' },
  })
}
