import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { listBackups, removeOldBackups, removeUnfinished } from '../../src/cli/backup/backups.ts'
import { createConsoleBackups } from '../../src/cli/backup/console-backups.ts'
import { readBackup } from '../../src/cli/backup/read-backup.ts'
import { openSource } from '../../src/cli/backup/store/archive-source.ts'
import { chooseTarget } from '../../src/cli/backup/target.ts'
import { describeForOperator } from '../../src/cli/unavailable.ts'
import { readConfig } from '../../src/config/config.ts'
import { createS3Client } from '../../src/features/attachments/storage/s3/client.ts'
import { DAY_MS } from '../../src/lib/time/durations.ts'
import { readMigrations } from '../../src/platform/db/migrations.ts'
import { createTestApp } from '../support/app.ts'
import { startBackupBucket } from '../support/backup-bucket.ts'
import { signInOperator } from '../support/operator.ts'

const NAME = 'homeport-20261127T020000Z.tar'
const MEGABYTE = 2 ** 20

type Store = Awaited<ReturnType<typeof startBackupBucket>>

/** Adds an attachment, so that a backup has several parts. */
async function addAttachment({ dataDir }: Store, megabytes: number) {
  await Bun.write(join(dataDir, 'files', 'a', 'abc.bin'), randomBytes(megabytes * MEGABYTE))
}

async function restoreTo(store: Store, path: string, folder: string, key: string | null = null) {
  const source = await openSource(store.config, path)
  const policy = { keys: [], isTrusted: true, mustBeEncrypted: false, checkOnly: false }
  const migrations = readMigrations('sqlite')
  const onProgress = () => {}
  return readBackup({ source, key, ...policy, folder, migrations, onProgress })
}

test('a backup is uploaded in parts, listed, and restored with the same content', async () => {
  await using store = await startBackupBucket()
  await addAttachment(store, 17)
  for (const key of [null, 'a passphrase']) {
    const name = key === null ? NAME : `${NAME}.age`
    const path = await store.make(name, { key })
    expect(path).toBe(`s3://backups/prod/${name}`)
    const stored = store.s3.objects.get(`prod/${name}`)
    expect(stored?.etag).toEndWith('-2')
    const [listed] = await listBackups(store.bucket)
    expect(listed).toMatchObject({ name, path, bytes: stored?.bytes.length })
    const folder = join(store.folder, 'restored')
    await restoreTo(store, path, folder, key)
    expect(await store.filesIn(folder)).toEqual(await store.filesIn(store.dataDir))
  }
  expect(store.s3.uploads.size).toBe(0)
}, 60_000)

test('the oldest backups are removed, and other objects stay', async () => {
  await using store = await startBackupBucket()
  const names = [25, 26, 27].map((day) => `homeport-202611${day}T020000Z.tar`)
  const others = ['prod/homeport-owner.json', `prod/old/${NAME}`, `${NAME}`, `production/${NAME}`]
  const objects = [...names.map((name) => `prod/${name}`), ...others, 'prod/homeport-mine.tar']
  const content = { bytes: Buffer.from('x'), lastModified: new Date() }
  for (const key of objects) store.s3.objects.set(key, content)
  expect(await removeOldBackups(store.bucket, 2)).toEqual([`s3://backups/prod/${names[0]}`])
  const left = objects.filter((key) => key !== `prod/${names[0]}`)
  expect([...store.s3.objects.keys()].toSorted()).toEqual(left.toSorted())
})

test('folders beside the backups are not listed', async () => {
  await using store = await startBackupBucket()
  await store.make(NAME)
  const content = { bytes: Buffer.from('x'), lastModified: new Date() }
  for (let at = 0; at < 300; at++) store.s3.objects.set(`prod/homeport-files/${at}.txt`, content)
  expect(await listBackups(store.bucket)).toMatchObject([{ name: NAME }])
  expect(store.s3.requests.LIST).toBe(1)
})

test('a failed upload leaves neither an object nor parts', async () => {
  await using store = await startBackupBucket()
  await addAttachment(store, 40)
  const { s3 } = store
  const failLater = () => {
    const [upload] = s3.uploads.values()
    if (upload && upload.parts.size > 0) s3.faults.refuses = 'QuotaExceeded'
  }
  const refused = await store.make(NAME, { onProgress: failLater }).catch((error) => error)
  expect(describeForOperator(refused)).toContain('403 QuotaExceeded')
  s3.faults.refuses = null
  for (const completion of ['fails', 'forgets'] as const) {
    s3.faults.completion = completion
    await expect(store.make(NAME)).rejects.toMatchObject({ code: 'unavailable' })
  }
  expect([s3.uploads.size, s3.stored()]).toEqual([0, []])
  expect(await listBackups(store.bucket)).toEqual([])
}, 60_000)

test('an upload survives damaged parts and a lost response', async () => {
  await using store = await startBackupBucket()
  const { s3 } = store
  s3.faults.corrupt = 1
  s3.faults.completion = 'cut'
  const path = await store.make(NAME)
  s3.faults.completion = null
  expect((await restoreTo(store, path, join(store.folder, 'restored'))).files).toBeGreaterThan(1)
  expect(s3.uploads.size).toBe(0)
}, 30_000)

test('writes backups to a store that encrypts with its own keys', async () => {
  await using store = await startBackupBucket()
  store.s3.faults.kms = 'not-a-hash'
  const path = await store.make(NAME)
  await restoreTo(store, path, join(store.folder, 'restored'))
})

test('a download that is cut off resumes', async () => {
  await using store = await startBackupBucket()
  await addAttachment(store, 9)
  const path = await store.make(NAME)
  store.s3.faults.cut = 2
  await restoreTo(store, path, join(store.folder, 'restored'))
  expect(store.s3.faults.cut).toBe(0)
}, 30_000)

test('the next backup removes the parts of an interrupted upload, but not those of other programs', async () => {
  await using store = await startBackupBucket()
  const client = createS3Client(store.bucket)
  for (const key of [NAME, 'homeport-mine.tar', 'other.bin'])
    await client.call('POST', key, { uploads: '' }, '')
  await removeUnfinished(store.bucket, DAY_MS)
  expect(store.s3.uploads.size).toBe(3)
  await removeUnfinished(store.bucket, 0)
  const left = [...store.s3.uploads.values()].map(({ key }) => key)
  expect(left).toEqual(['prod/homeport-mine.tar', 'prod/other.bin'])
})

test('the console lists and downloads backups in a store', async () => {
  await using store = await startBackupBucket()
  await store.make(NAME)
  const backups = createConsoleBackups(store.config)
  const { isOnServer, folder, backups: listed } = await backups.list()
  expect([isOnServer, folder]).toEqual([false, 's3://backups/prod'])
  expect(listed).toMatchObject([{ name: NAME, canVerify: true }])
  const opened = await backups.open(NAME)
  const stored = store.s3.objects.get(`prod/${NAME}`)
  expect(Buffer.from((await opened?.bytes()) ?? []).equals(stored?.bytes as Buffer)).toBe(true)
  expect(await backups.open('homeport-owner.json')).toBeNull()
  await using app = await createTestApp({}, { backups })
  const owner = await signInOperator(app)
  const { status, headers } = await owner.ask('GET', `backups/${NAME}/download`)
  const [disposition, length] = ['content-disposition', 'content-length'].map((name) =>
    headers.get(name),
  )
  expect([status, disposition, length]).toEqual([
    200,
    `attachment; filename="${NAME}"`,
    String(stored?.bytes.length),
  ])
})

test('--out refuses the URL of a store, and an existing name is not reused', async () => {
  await using store = await startBackupBucket()
  const choose = (out: string | null) => chooseTarget(store.config, out, false, true)
  await expect(choose('s3://backups/prod')).rejects.toThrow('set BACKUP_DIR')
  const first = await choose(null)
  await store.make(first.name)
  expect((await choose(null)).name).not.toBe(first.name)
})

test('restore reports a missing object and missing credentials', async () => {
  await using store = await startBackupBucket()
  const open = (path: string, config = store.config) => openSource(config, path)
  await expect(open(`s3://backups/prod/${NAME}`)).rejects.toThrow('There is no backup s3://')
  await expect(open('s3://')).rejects.toThrow('must be s3://bucket/prefix/name')
  const keyless = readConfig({}, { BACKUP_DIR: '/backups' })
  await expect(open(`s3://backups/${NAME}`, keyless)).rejects.toThrow('Set S3_ACCESS_KEY_ID')
})
