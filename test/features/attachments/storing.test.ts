import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFiles } from '../../../src/features/attachments/storage/files.ts'
import { createQuota } from '../../../src/features/attachments/upload/quota.ts'
import { AppError } from '../../../src/lib/errors.ts'
import { newKey } from '../../../src/lib/ids.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { fetchFile, filesOf, uploadBody, uploadForm } from '../../support/attachments.ts'
import { phonePhoto } from '../../support/pictures.ts'

test('variants of all images count towards the quota of their owner only', async () => {
  await using app = await createTestApp()
  const { db } = app.services
  const [ann, bob] = [await app.register(), await app.register()]
  const quota = createQuota({ db, maxBytes: 100, maxCount: 10 })
  const annsPictures = [await store(app, ann.user._id, 'a'), await store(app, ann.user._id, 'b')]
  const bobsPicture = await store(app, bob.user._id, 'c')
  const take = (row: Stored, size: number) =>
    db.write((tx) =>
      quota.storeVariant(tx, row, { key: `${row.key}.w64.webp`, original: row.key, size }),
    )
  expect(await take(bobsPicture, 80)).toEqual([])
  expect(await take(annsPictures[0] as Stored, 50)).toEqual([])
  expect(await take(annsPictures[1] as Stored, 40)).toEqual(['a.w64.webp'])
  const upload = { ...(annsPictures[0] as Stored), key: 'd', size: 60 }
  expect(await db.write((tx) => quota.take(tx, ann.user._id, [upload]))).toEqual(['b.w64.webp'])
  const kept = await db.read.select().from(db.tables.variants)
  expect(kept.map(({ key }) => key)).toEqual(['c.w64.webp'])
})

test('deleting a user deletes their files and the variants of these files', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const photo = await uploadBody(app, token, await phonePhoto(), 'image/jpeg', 'publicAsset')
  const { url } = photo.json.response[0]
  expect((await fetchFile(app, `${url}?width=64`)).status).toBe(200)
  expect(await filesOf(app)).toHaveLength(2)
  await app.ask('DELETE', '/api/user/profile/v1', { token })
  expect(await filesOf(app)).toEqual([])
}, 60_000)

test('refuses an upload whose account is deleted while it runs, and leaves no file', async () => {
  await using app = await createTestApp()
  const token = await startGuest(app)
  const { db } = app.services
  const { write } = db
  db.write = async (work) => {
    db.write = write
    await write(async (tx) => void (await tx.delete(db.tables.users)))
    return write(work)
  }
  const { json } = await uploadBody(app, token, 'text', 'text/plain', 'supportTicket')
  expect(json.message).toBe('This account no longer exists.')
  expect(await filesOf(app)).toEqual([])
})

test('an upload whose outcome is unknown keeps its file', async () => {
  await using app = await createTestApp()
  const token = await startGuest(app)
  const { db } = app.services
  const { write } = db
  db.write = async (work) => {
    db.write = write
    await write(work)
    throw new AppError('unavailable', 'The database is unavailable. Try again in a moment.')
  }
  const { status } = await uploadBody(app, token, 'text', 'text/plain', 'supportTicket')
  expect(status).toBe(503)
  expect(await filesOf(app)).toHaveLength(1)
})

test('with a full quota, refuses an upload before checking its content', async () => {
  await using app = await createTestApp({ ATTACHMENT_QUOTA_BYTES: '4' })
  const token = await startGuest(app)
  const send = (body: string, type: string) => uploadBody(app, token, body, 'text/plain', type)
  expect((await send('text', 'supportTicket')).status).toBe(200)
  expect((await send('not an image', 'publicAsset')).json.code).toBe('quota_exceeded')
})

/** Starts a guest and makes a first request, so that its writes do not coincide with an upload. */
async function startGuest(app: TestApp): Promise<string> {
  const { json } = await app.ask('POST', '/api/auth/guest/v1')
  const token = json.response.accessToken
  await app.ask('GET', '/api/user/profile/v1', { token })
  return token
}

type Stored = Awaited<ReturnType<typeof store>>

/** Stores the row of a 10-byte image. */
async function store({ services: { db }, clock }: TestApp, userId: string, key: string) {
  const row = {
    key,
    userId,
    type: 'publicAsset',
    fileName: key,
    itemType: 'image/webp',
    size: 10,
    width: 8,
    height: 8,
    createdAt: clock.now,
  }
  await db.write(async (tx) => void (await tx.insert(db.tables.attachments).values(row)))
  return row
}

test('a variant that is removed and made again during a backup can be read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-files-'))
  const files = createFiles(folder)
  await files.holdRemovals(60_000)
  const key = `${newKey()}.w64.webp`
  for (const content of ['first', 'second']) {
    const path = join(folder, content)
    await Bun.write(path, content)
    await files.keep(path, key)
    if (content === 'first') await files.remove(key)
  }
  expect(await (await files.open(key))?.file.text()).toBe('second')
  await files.holdRemovals(0)
  expect(await files.open(key)).not.toBeNull()
  await rm(folder, { recursive: true })
})

test('keeps a variant that is made again while it is removed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-files-'))
  const files = createFiles(folder)
  const keep = async (content: string, key: string) => {
    const path = join(folder, content)
    await Bun.write(path, content)
    await files.keep(path, key)
  }
  const found: (string | undefined)[] = []
  for (let round = 0; round < 50; round++) {
    const key = `${newKey()}.w64.webp`
    await keep('first', key)
    const removing = files.remove(key)
    await keep('second', key)
    await removing
    found.push(await (await files.open(key))?.file.text())
  }
  expect(found).toEqual(Array(50).fill('second'))
  await rm(folder, { recursive: true })
})

test('ignores a file input without a file', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const reply = await uploadForm(
    app,
    token,
    [
      ['', ''],
      ['a.txt', 'text'],
    ],
    { type: 'supportTicket' },
  )
  expect(reply.json.response).toMatchObject([{ fileName: 'a.txt' }])
  const none = await uploadForm(app, token, [['', '']], { type: 'supportTicket' })
  expect(none.json.details).toMatchObject([{ path: 'body' }])
  expect(await filesOf(app)).toHaveLength(1)
})
