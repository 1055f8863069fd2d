import { beforeAll, expect } from 'bun:test'
import { startBackupBucket } from '../support/backup-bucket.ts'
import { onSqlite } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { register, uploadText } from '../support/requests.ts'
import { until } from '../support/until.ts'

const DATA_DIRECTORY = 'the files of the data directory are compared'

beforeAll(buildExecutable, 300_000)

onSqlite(DATA_DIRECTORY)(
  'the commands store, verify and restore backups in a bucket',
  async () => {
    await using store = await startBackupBucket()
    await using homeport = await installExecutable()
    const { DATA_DIR: _, ...environment } = store.environment
    const { run } = homeport
    const server = await homeport.start({ ...environment, RATE_LIMITS: 'off' })
    const { accessToken } = await register(server, 'ann@example.com')
    await uploadText(server, accessToken, 'kept')
    // The command uses the running server's settings.
    const { stdout } = await run(['backup'])
    expect(stdout).toMatch(
      /^s3:\/\/backups\/prod\/homeport-\w+\.tar: .*checksums verified, NOT encrypted/,
    )
    const [path = ''] = stdout.split(': ')
    expect((await run(['doctor'])).stdout).toContain(`${path} from `)
    await server.stop()
    const verified = await run(['restore', '--verify', path], environment)
    expect([verified.exitCode, verified.stdout]).toEqual([
      0,
      expect.stringContaining(`${path} is a valid backup`),
    ])
    const elsewhere = { ...environment, DATA_DIR: 'restored' }
    expect((await run(['restore', '--trust', path], elsewhere)).exitCode).toBe(0)
    const files = await store.filesIn(`${homeport.folder}/data`)
    const { 'homeport.db': database, ...restored } = await store.filesIn(
      `${homeport.folder}/restored`,
    )
    expect(database).toBeString()
    expect(files).toMatchObject(restored)
    expect(Object.keys(restored).some((name) => name.startsWith('files/'))).toBe(true)
  },
  60_000,
)

onSqlite('a missed backup is not written with several instances')(
  'stores a missed scheduled backup at startup, and keeps only BACKUP_KEEP backups',
  async () => {
    await using store = await startBackupBucket()
    await using homeport = await installExecutable()
    const lastModified = new Date(Date.now() - 25 * 60 * 60 * 1000)
    const old = 'prod/homeport-20260101T000000Z.tar'
    store.s3.objects.set(old, { bytes: Buffer.from('old'), lastModified })
    store.s3.objects.set('prod/mine.tar', { bytes: Buffer.from('mine'), lastModified })
    const { DATA_DIR: _, ...environment } = store.environment
    const schedule = { BACKUP_SCHEDULE: '0 * * * *', BACKUP_KEEP: '1' }
    const server = await homeport.start({ ...environment, ...schedule })
    await until(() => !store.s3.objects.has(old), 'the old backup is not removed')
    await homeport.waitForLogLine('a backup was written')
    expect(store.s3.stored().filter((key) => !key.endsWith('-probe'))).toEqual([
      expect.stringMatching(/^prod\/homeport-\d{8}T\d{6}Z\.tar$/),
      'prod/mine.tar',
    ])
    await server.stop()
  },
  60_000,
)

onSqlite(DATA_DIRECTORY)(
  'a killed backup is not listed, and the next backup removes its parts',
  async () => {
    await using store = await startBackupBucket()
    await using homeport = await installExecutable()
    const { DATA_DIR: _, ...environment } = store.environment
    await homeport.run(['init'])
    store.s3.faults.pause = 1_000
    const backup = Bun.spawn([`${homeport.folder}/homeport`, 'backup'], {
      cwd: homeport.folder,
      env: environment,
    })
    await until(() => store.s3.uploads.size > 0, 'no upload has begun')
    backup.kill('SIGKILL')
    await backup.exited
    store.s3.faults.pause = 0
    expect([store.s3.uploads.size, store.s3.stored()]).toEqual([1, []])
    expect((await homeport.run(['backup'], environment)).exitCode).toBe(0)
    expect([store.s3.uploads.size, store.s3.stored().length]).toEqual([0, 1])
  },
  60_000,
)
