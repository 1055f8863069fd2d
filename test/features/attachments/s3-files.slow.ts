import { expect, spyOn, test } from 'bun:test'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { newKey } from '../../../src/lib/ids.ts'
import { ACCOUNT, causeOf, startStore } from '../../support/s3-store.ts'
import { until } from '../../support/until.ts'

const HOUR = 60 * 60 * 1000

test('a file is stored, opened and removed', async () => {
  await using store = await startStore()
  const { key, path } = await store.keep('some text')
  expect([...store.s3.objects.keys()]).toEqual([`home/${key}`])
  expect(await Bun.file(path).exists()).toBe(false)
  expect(await textOf(await store.files().open(key))).toBe('some text')
  expect(store.s3.requests.GET).toBe(0)
  const other = store.otherFiles()
  expect(await textOf(await other.open(key))).toBe('some text')
  await other.remove(key)
  expect([store.s3.objects.size, await other.open(key)]).toEqual([0, null])
  await other.remove(key)
})

test('stores an empty file with its size and time', async () => {
  await using store = await startStore()
  const { key } = await store.keep('')
  const opened = await store.otherFiles().open(key)
  expect([opened?.size, await textOf(opened)]).toEqual([0, ''])
  const found = await store.client().head(key)
  expect(found?.size).toBe(0)
  expect(Math.abs(Date.now() - Number(found?.lastModified))).toBeLessThan(5_000)
  expect(await store.client().head('none')).toBeNull()
})

test('lists all 250 objects under its prefix in order, and no others', async () => {
  await using store = await startStore()
  const keys = Array.from({ length: 250 }, () => `${newKey()}.txt`).toSorted()
  const unrelated = ['homes/a', 'home/notes & <more>.txt', 'home/deep/a.txt', `${newKey()}.txt`]
  for (const key of [...keys.map((key) => `home/${key}`), ...unrelated]) {
    store.s3.objects.set(key, { bytes: Buffer.alloc(1), lastModified: new Date() })
  }
  const listed = await Array.fromAsync(store.client().list())
  expect(listed.map(({ key }) => key)).toEqual(
    [...keys, 'notes & <more>.txt', 'deep/a.txt'].toSorted(),
  )
  expect(store.s3.requests.LIST).toBe(3)
  const stored = await Array.fromAsync(store.files().list())
  expect(stored.map(({ key }) => key)).toEqual(keys)
})

test('fails immediately with the store’s error code if the access key or bucket is wrong', async () => {
  await using store = await startStore()
  const files = store.files({ secretAccessKey: 'wrong' })
  expect(await causeOf(files.open('a'))).toStartWith(
    'S3 answered GET a with 403 SignatureDoesNotMatch',
  )
  expect(store.s3.requests.GET).toBe(1)
  const listing = Array.fromAsync(files.list())
  expect(await causeOf(listing)).toStartWith('SignatureDoesNotMatch')
  const unknownAccount = store.files({ accessKeyId: 'stranger' })
  expect(await causeOf(unknownAccount.remove('a'))).toContain('403 InvalidAccessKeyId')
  const wrongBucket = store.files({ bucket: 'wrong' })
  expect(await causeOf(wrongBucket.open('a'))).toContain('404 NoSuchBucket')
  expect(await causeOf(wrongBucket.remove('a'))).toContain('404 NoSuchBucket')
})

test('refuses an expired URL', async () => {
  await using store = await startStore()
  const { key } = await store.keep('some text')
  const s3 = new Bun.S3Client({ ...ACCOUNT, endpoint: store.s3.url, region: 'us-east-1' })
  const address = s3.presign(`home/${key}`, { expiresIn: 60 })
  expect(await (await fetch(address, { headers: { range: 'bytes=5-' } })).text()).toBe('text')
  store.s3.faults.ahead = 62_000
  expect((await fetch(address)).status).toBe(403)
})

test('retries a request that fails twice', async () => {
  await using store = await startStore()
  Object.assign(store.s3.faults, { failing: 1, slowDown: 1 })
  const { key } = await store.keep('some text')
  expect(store.s3.requests.PUT).toBe(3)
  Object.assign(store.s3.faults, { failing: 2 })
  const other = store.otherFiles()
  expect(await textOf(await other.open(key))).toBe('some text')
  Object.assign(store.s3.faults, { slowDown: 2 })
  expect(await Array.fromAsync(store.client().list())).toHaveLength(1)
})

test('fails as unavailable after three attempts, without a signature in the error', async () => {
  await using store = await startStore()
  store.s3.faults.failing = 3
  expect(await causeOf(store.files().open('a'))).toContain('500 InternalError')
  expect(store.s3.requests.GET).toBe(3)
  await store.s3.stop()
  expect(await causeOf(store.files().open('a'))).toStartWith('ECONNREFUSED')
})

test('a store that never answers is unavailable after its deadline', async () => {
  await using store = await startStore()
  store.s3.faults.hangs = true
  const { key, path } = store.stage('some text')
  const files = store.files({ deadlineMs: 100 })
  const list = Array.fromAsync(files.list())
  const work = [files.open(key), files.keep(path, key), files.remove(key), list]
  const causes = await Promise.all(work.map(causeOf))
  expect([...new Set(causes)]).toEqual(['S3 made no progress for 100 ms'])
}, 20_000)

test('a store that only trickles bytes is unavailable after a while', async () => {
  await using store = await startStore()
  const { key, path } = store.stage('x'.repeat(10_000))
  await store.files().keep(path, key)
  Object.assign(store.s3.faults, { pause: 20, pieces: 10_000 })
  // On a busy machine a single piece may be late, too.
  const cause = await causeOf(store.otherFiles({ deadlineMs: 60 }).open(key))
  expect(cause).toMatch(/S3 (took longer than 720|made no progress for 60) ms/)
})

test('allows a slow transfer as long as bytes keep moving', async () => {
  await using store = await startStore()
  const content = 'x'.repeat(200_000)
  // Together the pieces exceed the deadline; on a busy machine, one may take most of it.
  store.s3.faults.pause = 150
  const files = store.files({ deadlineMs: 1_000 })
  const { key, path } = store.stage(content)
  await files.keep(path, key)
  const other = store.otherFiles({ deadlineMs: 1_000 })
  expect((await other.open(key))?.size).toBe(content.length)
  expect([store.s3.requests.PUT, store.s3.requests.GET]).toEqual([1, 1])
})

test('a body that is cut short is fetched again and never served', async () => {
  await using store = await startStore()
  const content = 'x'.repeat(300_000)
  const { key } = await store.keep(content)
  const other = store.otherFiles()
  store.s3.faults.cut = 3
  expect(await causeOf(other.open(key))).toContain('closed')
  expect(readdirSync(store.path('other'))).toEqual([])
  store.s3.faults.cut = 2
  expect(await textOf(await other.open(key))).toBe(content)
  expect(store.s3.requests.GET).toBe(6)
})

test('detects an upload corrupted in transit and sends it again', async () => {
  await using store = await startStore()
  store.s3.faults.corrupt = 1
  const { key } = await store.keep('some text')
  expect(store.s3.requests.PUT).toBe(2)
  expect(store.s3.objects.get(`home/${key}`)?.bytes.toString()).toBe('some text')
})

test('a file that cannot be stored stays in place and leaves nothing in the store', async () => {
  await using store = await startStore()
  store.s3.faults.corrupt = 3
  const { key, path } = store.stage('some text')
  expect(await causeOf(store.files().keep(path, key))).toContain('400 BadDigest')
  expect(readFileSync(path, 'utf8')).toBe('some text')
  expect([store.s3.objects.size, readdirSync(store.path('cache'))]).toEqual([0, []])
})

test('restarts an interrupted upload', async () => {
  await using store = await startStore()
  store.s3.faults.cut = 1
  const { key } = await store.keep('x'.repeat(9_000_000))
  expect(store.s3.objects.get(`home/${key}`)?.bytes).toHaveLength(9_000_000)
  expect(store.s3.requests.PUT).toBe(2)
})

test('concurrent reads of a file share one download', async () => {
  await using store = await startStore()
  const { key } = await store.keep('some text')
  const other = store.otherFiles()
  const opened = await Promise.all([1, 2, 3].map(() => other.open(key)))
  expect(await Promise.all(opened.map(textOf))).toEqual(Array(3).fill('some text'))
  await other.open(key)
  expect(store.s3.requests.GET).toBe(1)
})

test('the cache stays within its limit, except for files used in the last two minutes', async () => {
  await using store = await startStore()
  const clock = { now: Date.now() }
  const cacheFolder = store.path('small')
  const files = store.files({ cacheFolder, cacheBytes: 3_000, now: () => clock.now })
  const keys: string[] = []
  for (let at = 0; at < 3; at++) keys.push((await store.keep('x'.repeat(1_000), files)).key)
  clock.now += 121_000
  await files.open(keys[0] ?? '')
  const { key } = await store.keep('x'.repeat(1_000), files)
  expect(readdirSync(cacheFolder).toSorted()).toEqual(
    [keys[0] ?? '', keys[2] ?? '', key].toSorted(),
  )
  expect(await textOf(await files.open(keys[1] ?? ''))).toHaveLength(1_000)
  expect(bytesIn(cacheFolder)).toBe(3_000)
  await store.keep('x'.repeat(1_500), files)
  expect(bytesIn(cacheFolder)).toBe(4_500)
  clock.now += 121_000
  await store.keep('x', files)
  expect(bytesIn(cacheFolder)).toBe(2_501)
})

test('files dated in the future by a wrong clock are evicted too', async () => {
  await using store = await startStore()
  const clock = { now: Date.now() + 24 * HOUR }
  const cacheFolder = store.path('small')
  const files = store.files({ cacheFolder, cacheBytes: 1_000, now: () => clock.now })
  await store.keep('x'.repeat(1_000), files)
  clock.now -= 24 * HOUR
  const { key } = await store.keep('x'.repeat(1_000), files)
  expect(readdirSync(cacheFolder)).toEqual([key])
})

test('the cache survives a restart, but incomplete files do not', async () => {
  await using store = await startStore()
  const { key } = await store.keep('some text')
  await Bun.write(store.path('cache', 'left.part'), 'x')
  const later = Date.now() + HOUR + 1_000
  const next = store.files({ now: () => later })
  expect(readdirSync(store.path('cache'))).toEqual([key])
  expect(await textOf(await next.open(key))).toBe('some text')
  rmSync(store.path('cache', key))
  expect(await textOf(await next.open(key))).toBe('some text')
  expect(store.s3.requests.GET).toBe(1)
  store.files({ now: () => later + HOUR, cacheBytes: 1 })
  expect(readdirSync(store.path('cache'))).toEqual([])
})

test('a file that is removed while it is fetched does not stay in the cache', async () => {
  await using store = await startStore()
  const { key } = await store.keep('x'.repeat(100_000))
  const other = store.otherFiles()
  const { promise, resolve } = Promise.withResolvers<void>()
  store.s3.faults.held = promise
  const opening = other.open(key)
  await until(() => store.s3.requests.GET > 0, 'the file is not fetched')
  const removing = other.remove(key)
  await until(() => store.s3.objects.size === 0, 'the file is not removed')
  resolve()
  await Promise.all([removing, opening])
  expect([await other.open(key), readdirSync(store.path('other'))]).toEqual([null, []])
})

test('a held removal hides the file immediately and deletes it later', async () => {
  await using store = await startStore()
  const files = store.files()
  const { key } = await store.keep('one', files)
  await files.holdRemovals(60_000)
  await files.remove(key)
  expect([await files.open(key), store.s3.objects.size]).toEqual([null, 1])
  await files.holdRemovals(0)
  expect([store.s3.objects.size, readdirSync(store.path('cache'))]).toEqual([0, []])
})

test('carries out held removals when the hold ends', async () => {
  await using store = await startStore()
  const clock = { now: Date.now() }
  const files = store.files({ now: () => clock.now })
  const { key } = await store.keep('some text', files)
  using timers = spyOn(globalThis, 'setTimeout')
  await files.holdRemovals(60_000)
  const [end] = timers.mock.calls.find(([, ms]) => ms === 60_000) ?? []
  await files.remove(key)
  expect(store.s3.objects.size).toBe(1)
  clock.now += 60_000
  await (end as () => Promise<void>)()
  expect([store.s3.objects.size, readdirSync(store.path('cache'))]).toEqual([0, []])
})

const textOf = async (opened: { file: Blob } | null) => opened?.file.text()

function bytesIn(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}
