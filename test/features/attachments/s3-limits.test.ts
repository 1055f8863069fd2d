import { expect, test } from 'bun:test'
import { readdirSync, rmSync } from 'node:fs'
import { createDiskSpace } from '../../../src/features/attachments/storage/disk-space.ts'
import { causeOf, startStore } from '../../support/s3-store.ts'

test.each([
  ['file', 200, {}],
  ['file with a declared size above the limit', 200, { 'content-length': String(2 ** 40) }],
  ['compressed file', 200, { 'content-length': '10', 'content-encoding': 'gzip' }],
  ['error reply', 500, {}],
] as [string, number, Record<string, string>][])(
  'treats a store that sends an endless %s as unavailable',
  async (_name, status, headers) => {
    await using store = await startStore()
    store.s3.faults.endless = { status, headers }
    await causeOf(store.files().open('a'))
    expect(store.s3.endlessBytes.sent).toBeLessThan(64 * 2 ** 20)
    expect(readdirSync(store.path('cache'))).toEqual([])
  },
)

test('fetches a file only if there is disk space for it', async () => {
  await using store = await startStore()
  const { key } = await store.keep('some text')
  const space = createDiskSpace(store.path(), Number.MAX_SAFE_INTEGER)
  await expect(store.otherFiles({ space }).open(key)).rejects.toMatchObject({
    code: 'insufficient_storage',
  })
  expect(readdirSync(store.path('other'))).toEqual([])
})

test('drops cached files that are not in use when the disk is short of space', async () => {
  await using store = await startStore()
  const space = createDiskSpace(store.path(), Number.MAX_SAFE_INTEGER)
  let now = Date.now()
  const files = store.files({ space, now: () => now })
  const old = await store.keep('old', files)
  now += 3 * 60_000
  const recent = await store.keep('recent', files)
  await expect(space.check(1)).rejects.toMatchObject({ code: 'insufficient_storage' })
  expect(readdirSync(store.path('cache'))).toEqual([recent.key])
  expect(await store.s3.objects.has(`home/${old.key}`)).toBe(true)
})

test('creates the cache folder again if an operator has removed it', async () => {
  await using store = await startStore()
  const files = store.files()
  const { key } = await store.keep('some text', files)
  rmSync(store.path('cache'), { recursive: true })
  expect(await (await files.open(key))?.file.text()).toBe('some text')
})

test('fetches a file whose length the store does not state', async () => {
  await using store = await startStore()
  const { key } = await store.keep('some text')
  store.s3.faults.isChunked = true
  expect(await (await store.otherFiles().open(key))?.file.text()).toBe('some text')
})
