import { expect, test } from 'bun:test'
import { createBackupState, warnIfTargetUnwritable } from '../../src/cli/backup/jobs.ts'
import { chooseTarget } from '../../src/cli/backup/target.ts'
import { listFolderWarnings } from '../../src/cli/data/data-directory.ts'
import { checkBackup } from '../../src/cli/doctor/server-state.ts'
import { readConfig } from '../../src/config/config.ts'
import { createLog } from '../../src/lib/log/log.ts'
import { createTestApp } from '../support/app.ts'
import { KEYS, startBackupBucket } from '../support/backup-bucket.ts'
import { createLogLines } from '../support/log-lines.ts'

const SCHEDULED = { BACKUP_SCHEDULE: '15 2 * * *' }

test('doctor warns about unencrypted backups in a store, but not about the disk', async () => {
  await using store = await startBackupBucket()
  expect(await checkBackup(store.config, null)).toMatchObject({ state: 'warning', detail: 'none' })
  await store.make('homeport-20261126T020000Z.tar')
  const found = await checkBackup(store.config, null)
  expect(found).toMatchObject({
    state: 'warning',
    detail: expect.stringMatching(/: backups are not encrypted$/),
  })
  expect(JSON.stringify(found)).not.toContain('disk')
  await store.make('homeport-20261127T020000Z.tar.age', { key: 'a passphrase' })
  expect(await checkBackup(store.config, null)).toMatchObject({ state: 'ok' })
  expect(listFolderWarnings(store.config)).toEqual([])
})

test.each([
  ['a read-only key', { refuses: 'AccessDenied' }, {}, /403 AccessDenied.*permissions of the key/],
  [
    'a wrong secret',
    {},
    { S3_SECRET_ACCESS_KEY: 'wrong' },
    /SignatureDoesNotMatch.*check S3_SECRET_ACCESS_KEY/,
  ],
  ['a bucket that does not exist', {}, { bucket: 'nowhere' }, /NoSuchBucket.*create the bucket/],
  [
    'a store that cannot be reached',
    {},
    { port: '1' },
    /s3:\/\/backups\/prod (cannot be used|does not respond)/,
  ],
])(
  'doctor, the backup state and the log report %s',
  async (_, faults, changed, reason) => {
    await using store = await startBackupBucket()
    Object.assign(store.s3.faults, faults)
    const {
      bucket = 'backups',
      port = new URL(store.s3.url).port,
      ...variables
    } = changed as Record<string, string>
    const BACKUP_DIR = `s3://${bucket}/prod?endpoint=http://127.0.0.1:${port}`
    const config = store.configOf({ BACKUP_DIR, ...SCHEDULED, ...variables })
    const detail = expect.stringMatching(reason)
    expect(await checkBackup(config, null)).toMatchObject({ state: 'failed', detail })
    expect(await createBackupState(config)()).toEqual({
      newestAt: null,
      isScheduled: true,
      fault: detail,
    })
    const output = createLogLines()
    await warnIfTargetUnwritable(config, createLog('info', output))
    expect(output.lines.join('')).toMatch(reason)
    expect(output.lines.join('')).not.toContain('X-Amz')
  },
  30_000,
)

test('refuses a store that answers every request with 200, whose owner cannot be read', async () => {
  await using server = Bun.serve({ port: 0, fetch: () => new Response('') })
  const place = `s3://backups/prod?endpoint=${server.url.origin}`
  const config = readConfig({}, { BACKUP_DIR: place, FILES_URL: place, ...KEYS })
  await expect(chooseTarget(config, null, true, true)).rejects.toThrow('every name as taken')
  await using app = await createTestApp({ FILES_URL: place, ...KEYS })
  const failure = await app.services.storeOwner.state().catch((error: Error) => error)
  expect((failure as Error).cause).toMatchObject({ message: expect.stringContaining('FILES_URL') })
}, 20_000)

test('reads the state of backups in a store at most once a minute', async () => {
  await using store = await startBackupBucket()
  await store.make('homeport-20261127T020000Z.tar')
  const read = createBackupState(store.configOf(SCHEDULED))
  const before = store.s3.requests.LIST
  for (let at = 0; at < 3; at++) expect((await read()).newestAt).toBeInstanceOf(Date)
  expect(store.s3.requests.LIST - before).toBe(1)
})

test('several instances report a missed backup if they share a store', async () => {
  await using store = await startBackupBucket()
  const lastModified = new Date(Date.now() - 3 * 24 * 60 * 60 * 1000)
  store.s3.objects.set('prod/homeport-20260101T000000Z.tar', { bytes: Buffer.of(1), lastModified })
  const shared = { DATABASE_URL: 'postgres://host/name', SECRET_KEY: 'x'.repeat(32) }
  const { fault } = await createBackupState(store.configOf({ ...SCHEDULED, ...shared }))()
  expect(fault).toContain('was not written')
})

test('backups can have their own credentials', () => {
  const place = { BACKUP_DIR: 's3://bucket/a/b?endpoint=https://s3.example.com&region=eu' }
  const own = { BACKUP_S3_ACCESS_KEY_ID: 'other', BACKUP_S3_SECRET_ACCESS_KEY: 'word' }
  const read = (environment: Record<string, string>) => readConfig({}, { ...place, ...environment })
  expect(read(KEYS)).toMatchObject({
    backupDir: {
      bucket: 'bucket',
      prefix: 'a/b',
      endpoint: 'https://s3.example.com',
      region: 'eu',
    },
    backupS3: { accessKeyId: 'id', secretAccessKey: 'secret' },
  })
  expect(read({ ...KEYS, ...own }).backupS3).toEqual({
    accessKeyId: 'other',
    secretAccessKey: 'word',
  })
})

test.each([
  's3://',
  's3:/x',
  's3:x',
  'S3://',
  's3://bucket?endpoint=nowhere',
  'https://bucket.example.com',
])('refuses %s as BACKUP_DIR', (BACKUP_DIR) => {
  expect(() => readConfig({}, { BACKUP_DIR, ...KEYS })).toThrow(
    'BACKUP_DIR must be a path, or s3://bucket/prefix?endpoint=https://…&region=…',
  )
})

const INCOMPLETE: Record<string, string>[] = [
  {},
  { S3_ACCESS_KEY_ID: 'id' },
  { ...KEYS, BACKUP_S3_ACCESS_KEY_ID: 'id' },
]
test.each(INCOMPLETE)(
  'refuses a bucket as BACKUP_DIR with the incomplete credentials %j',
  (keys) => {
    expect(() => readConfig({}, { BACKUP_DIR: 's3://bucket', ...keys })).toThrow(
      'BACKUP_DIR in an object store requires S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY',
    )
  },
)
