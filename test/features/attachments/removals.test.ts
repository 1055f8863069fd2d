import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { createTestApp } from '../../support/app.ts'
import { fetchFile, filesOf, PATH, uploadBody } from '../../support/attachments.ts'
import { phonePhoto } from '../../support/pictures.ts'
import { serveApp } from '../../support/served.ts'

test('a variant without a row is deleted after an hour, and others stay', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const photo = await phonePhoto(300, 200)
  const { json } = await uploadBody(app, token, photo, 'image/jpeg', 'publicAsset')
  const { url, key } = json.response[0]
  for (const width of [64, 128]) await fetchFile(app, `${url}?width=${width}&format=png`)
  const { db, orphans } = app.services
  const { variants } = db.tables
  const lost = eq(variants.key, `${key}.w64.png`)
  await db.write(async (tx) => void (await tx.delete(variants).where(lost)))
  await orphans.collect(AbortSignal.timeout(5_000))
  expect(await filesOf(app)).toHaveLength(3)
  app.clock.advance(61 * 60_000)
  await orphans.collect(AbortSignal.timeout(5_000))
  expect((await filesOf(app)).toSorted()).toEqual([key, `${key}.w128.png`])
})

test('files without a row stay for 30 days after the database was moved aside', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const { json } = await uploadBody(app, token, 'a', 'text/plain', 'supportTicket')
  const { db, orphans } = app.services
  await db.write(async (tx) => void (await tx.delete(db.tables.attachments)))
  const replacedDatabase = join(app.dataDir, 'homeport.db.after-migration-0042_x-20260101-000000')
  await Bun.write(replacedDatabase, '')
  const collectIn = async (minutes: number) => {
    app.clock.advance(minutes * 60_000)
    await orphans.collect(AbortSignal.timeout(5_000))
    return filesOf(app)
  }
  expect(await collectIn(61)).toEqual([json.response[0].key])
  expect(await collectIn(31 * 24 * 60)).toEqual([])
})

test('a file that is deleted during the search for missing files is not reported', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const keys: string[] = []
  for (const text of ['a', 'b', 'c']) {
    const { json } = await uploadBody(app, token, text, 'text/plain', 'supportTicket')
    keys.push(json.response[0].key)
  }
  const last = keys.toSorted().at(-1)
  const { files, orphans } = app.services
  const { list } = files
  files.list = async function* () {
    for await (const file of list()) {
      await app.ask('DELETE', `${PATH}?key=${last}`, { token })
      yield file
    }
  }
  await orphans.collect(AbortSignal.timeout(5_000))
  expect(app.lines.filter((line) => line.includes('missing'))).toEqual([])
})

test('deleting a file that was not just opened does not wait for readers', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register()
  const times: number[] = []
  for (let at = 0; at < 15; at++) {
    const { json } = await uploadBody(app, token, `${at}`, 'text/plain', 'supportTicket')
    const { key } = json.response[0]
    const startedAt = performance.now()
    await app.ask('DELETE', `${PATH}?key=${key}`, { token })
    times.push(performance.now() - startedAt)
  }
  expect(times.toSorted((a, b) => a - b)[7]).toBeLessThan(50)
  expect(await filesOf(app)).toEqual([])
})

test.each([
  ['whole', {}],
  ['in a range', { range: 'bytes=5-' }],
])(
  'a file that is deleted right after a reader opened it is read to the end, %s',
  async (_what, headers) => {
    await using app = await createTestApp()
    await using served = serveApp(app)
    const { accessToken: token } = await app.register()
    const body = Buffer.alloc(20 * 1024 * 1024, 'a')
    const { json } = await uploadBody(app, token, body, 'text/plain', 'supportTicket')
    const { key, url } = json.response[0]
    const { pathname, search } = new URL(url)
    const reading = served.ask(pathname + search, headers as Record<string, string>)
    const reader = await reading
    const deletion = app.ask('DELETE', `${PATH}?key=${key}`, { token })
    const size = (await reader.bytes()).byteLength
    expect(size).toBe(body.byteLength - ('range' in headers ? 5 : 0))
    expect((await deletion).status).toBe(200)
    expect((await served.ask(pathname + search)).status).toBe(404)
    expect(await filesOf(app)).toEqual([])
  },
)
