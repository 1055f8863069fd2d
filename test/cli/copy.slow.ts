import { beforeAll, expect, test } from 'bun:test'
import { exists, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { SQL } from 'bun'
import { ALLOW_CHANGES } from '../../src/platform/db/postgres/moved.ts'
import { createTestDatabase, isOnPostgres, ON_DISK } from '../support/databases.ts'
import { buildExecutable, installExecutable, type Server } from '../support/executable.ts'
import { deliver, register, signIn, uploadText } from '../support/requests.ts'
import { startS3 } from '../support/s3-server.ts'
import { simulateDelay } from '../support/until.ts'

const onPostgres = test.skipIf(!isOnPostgres)
const KEYS = { S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret' }

beforeAll(buildExecutable, 300_000)

onPostgres(
  'copies data to a server and back, and refuses to start on the copied source',
  async () => {
    await using homeport = await installExecutable()
    await using database = await createTestDatabase({ isEmpty: true })
    const { DATABASE_URL: url = '' } = database.environment
    await homeport.run(['init'], ON_DISK)
    await homeport.run(['user', 'create', 'ann@example.com'], ON_DISK)
    const copied = await homeport.run(['db', 'copy', '--to', 'env:TARGET_URL', '--json'], {
      ...ON_DISK,
      TARGET_URL: url,
    })
    expect([copied.stderr, copied.exitCode]).toEqual(['', 0])
    const stale = await homeport.run(['user', 'list'], ON_DISK)
    expect([stale.exitCode, stale.stderr]).toEqual([1, expect.stringContaining('was moved to')])
    const there = await homeport.run(['user', 'list'], database.environment)
    expect(there.stdout).toContain('ann@example.com')
    const filled = await homeport.run(['db', 'copy', '--to', url], {
      ...ON_DISK,
      DATA_DIR: 'other',
    })
    expect(filled.exitCode).toBe(1)
    const back = { ...ON_DISK, DATA_DIR: 'back' }
    const { rows } = JSON.parse(copied.stdout)
    const returned = await homeport.run(['db', 'copy', '--from', url, '--json'], back)
    expect(JSON.parse(returned.stdout).rows).toBe(rows)
    expect((await homeport.run(['user', 'list'], back)).stdout).toBe(there.stdout)
  },
  30_000,
)

onPostgres(
  'exports and ETags are the same on the other database engine',
  async () => {
    await using homeport = await installExecutable()
    await using database = await createTestDatabase({ isEmpty: true })
    const { DATABASE_URL: url = '' } = database.environment
    const server = await homeport.start(ON_DISK)
    const { accessToken: token } = await register(server, 'ann@example.com')
    for (const id of ['one', 'two', 'three']) await uploadText(server, token, id)
    for (const id of ['E-2', 'E-1']) await deliver(server, id)
    for (let times = 0; times < 2; times++) await signIn(server, 'ann@example.com')
    const before = await read(server, token)
    await server.stop()
    expect(await homeport.run(['db', 'copy', '--to', url], ON_DISK)).toMatchObject({ exitCode: 0 })
    const there = await homeport.start(database.environment)
    expect(await read(there, token)).toEqual(before)
    // PostgreSQL stores updated rows in a new place, which changes their physical order.
    for (const value of ['true', 'false'])
      await homeport.run(['settings', 'set', `hardPaywall=${value}`], database.environment)
    expect(await read(there, token)).toEqual(before)
    await there.stop()

    async function read({ url: base }: Server, token: string) {
      const headers = { authorization: `Bearer ${token}` }
      const exported = await fetch(`${base}/api/user/export/v1`, { headers })
      const names = ['app_settings', 'pricing_plans', 'faqs', 'currency_rates']
      const etags = names.map(async (name) => {
        const reply = await fetch(`${base}/api/user/${name}/v1`)
        return [name, reply.headers.get('etag')]
      })
      return [await exported.text(), ...(await Promise.all(etags))]
    }
  },
  30_000,
)

onPostgres(
  'commands refuse an interrupted copy from PostgreSQL, and a new copy includes later changes',
  async () => {
    await using homeport = await installExecutable()
    const { run } = homeport
    await run(['init'])
    await run(['user', 'create', 'ann@example.com'])
    const { DATABASE_URL: url = '' } = homeport.environment
    const back = { ...ON_DISK, DATA_DIR: 'back' }
    await run(['db', 'copy', '--from', url], back)
    // Recreates the state just before a copy finishes.
    const folder = join(homeport.folder, 'back')
    await mkdir(join(folder, 'copy.tmp'))
    for (const name of ['homeport.db', 'secrets'])
      await rename(join(folder, name), join(folder, 'copy.tmp', name))
    for (const args of [['serve'], ['init'], ['doctor']]) {
      const { exitCode, stderr } = await run(args, back)
      expect([args, exitCode, stderr]).toEqual([
        args,
        1,
        expect.stringMatching(args[0] === 'doctor' ? /no data/ : /"homeport db copy" again/),
      ])
    }
    await allowChanges(url)
    const server = await homeport.start()
    await register(server, 'bea@example.com')
    await server.stop()
    await changeEveryUser(url)
    const differs = await run(['db', 'copy', '--from', url], back)
    expect([differs.exitCode, differs.stderr]).toEqual([
      1,
      expect.stringContaining('copy again from the beginning'),
    ])
    expect(await run(['db', 'copy', '--from', url], back)).toMatchObject({ exitCode: 0 })
    const { stdout } = await run(['user', 'list'], back)
    expect(stdout).toContain('bea@example.com')
    expect(await readdir(folder)).not.toContain('copy.tmp')
  },
  30_000,
)

onPostgres(
  'refuses to repeat a finished copy, or to copy its source anywhere else',
  async () => {
    await using homeport = await installExecutable()
    await using elsewhere = await createTestDatabase({ isEmpty: true })
    const { DATABASE_URL: url = '' } = homeport.environment
    const { DATABASE_URL: other = '' } = elsewhere.environment
    await homeport.run(['init'], ON_DISK)
    const copy = (to: string) => homeport.run(['db', 'copy', '--to', to], ON_DISK)
    expect(await copy(url)).toMatchObject({ exitCode: 0 })
    expect((await copy(url)).stderr).toContain('the copy is complete, so set DATABASE_URL')
    expect((await copy(other)).stderr).toContain('The data was moved to')
    // Recreates the state of a copy that was killed just before it finished.
    await markUnfinished(url)
    const served = await homeport.run(['status'])
    expect([served.exitCode, served.stderr]).toEqual([1, expect.stringContaining('is unfinished')])
    expect(await copy(url)).toMatchObject({ exitCode: 0 })
    expect((await homeport.run(['user', 'list'])).exitCode).toBe(0)
  },
  30_000,
)

onPostgres(
  'no command runs on a restore with missing files, and repeating the restore completes it',
  async () => {
    await using homeport = await installExecutable()
    await using store = await startStore()
    await using elsewhere = await createTestDatabase({ isEmpty: true })
    const server = await homeport.start({ RATE_LIMITS: 'off' })
    const { accessToken } = await register(server, 'ann@example.com')
    await uploadText(server, accessToken, 'file')
    await homeport.run(['backup', '--out', 'backup.tar'])
    await server.stop()
    const other = { ...elsewhere.environment, ...store.environment, DATA_DIR: 'other' }
    const restore = (environment: Record<string, string> = {}) =>
      homeport.run(['restore', 'backup.tar', '--yes'], { ...other, ...environment })
    const FILES_URL = 's3://homeport/files?endpoint=http://127.0.0.1:1'
    expect((await restore({ FILES_URL })).exitCode).toBe(1)
    expect(await readdir(join(homeport.folder, 'other'))).not.toContain('restore.tmp')
    const status = await homeport.run(['user', 'list'], other)
    expect([status.exitCode, status.stderr]).toEqual([1, expect.stringContaining('is unfinished')])
    expect(await restore()).toMatchObject({ exitCode: 0, stderr: '' })
    expect((await homeport.run(['user', 'list'], other)).stdout).toContain('ann@example.com')
    const stored = store.s3.stored()
    expect(stored.filter((key) => !key.endsWith('/restored'))).toHaveLength(1)
    // Apps read everything again.
    await using sql = new SQL({ url: elsewhere.environment['DATABASE_URL'] ?? '', max: 1 })
    expect(await sql`SELECT kind FROM user_changes WHERE user_id IS NULL`).toHaveLength(4)
    expect(await sql`SELECT name FROM content_versions WHERE version > 1000`).toHaveLength(2)
  },
  30_000,
)

onPostgres(
  'a killed copy resumes where it stopped, and its data is not served before it is complete',
  async () => {
    await using homeport = await installExecutable()
    await using database = await createTestDatabase({ isEmpty: true })
    const { DATABASE_URL: url = '' } = database.environment
    const server = await homeport.start({ ...ON_DISK, RATE_LIMITS: 'off' })
    for (let at = 0; at < 40; at++) await register(server, `p${at}@example.com`)
    await server.stop()
    const { SECRET_KEY = '' } = database.environment
    for (let kills = 0, wait = 120; kills < 4; kills++, wait += 40) {
      const copy = Bun.spawn([join(homeport.folder, 'homeport'), 'db', 'copy', '--to', url], {
        cwd: homeport.folder,
        env: { SECRET_KEY },
        stdio: ['ignore', 'ignore', 'ignore'],
      })
      await simulateDelay(wait)
      copy.kill('SIGKILL')
      await copy.exited
    }
    const copied = await homeport.run(['db', 'copy', '--to', url], ON_DISK)
    // The last copy may have finished before it was killed.
    expect([copied.exitCode, copied.stderr].join(' ')).toMatch(/^0 $|already has data/)
    const { stdout } = await homeport.run(['user', 'list', '--json'], database.environment)
    expect(JSON.parse(stdout).users ?? JSON.parse(stdout)).toHaveLength(40)
  },
  60_000,
)

test('a backup of an S3 store can be restored to another store or to disk', async () => {
  await using homeport = await installExecutable()
  await using first = await startStore()
  await using second = await startStore()
  await using elsewhere = await createTestDatabase({ isEmpty: true })
  const server = await homeport.start({ ...first.environment, RATE_LIMITS: 'off' })
  const { accessToken } = await register(server, 'ann@example.com')
  for (let at = 0; at < 5; at++) await uploadText(server, accessToken, `file ${at}`)
  expect(first.s3.stored()).toHaveLength(5)
  const backup = await homeport.run(['backup', '--out', 'backup.tar'], first.environment)
  expect([backup.exitCode, backup.stderr]).toEqual([0, ''])
  await server.stop()
  const other = { ...elsewhere.environment, ...second.environment, DATA_DIR: 'other' }
  const trusted = ['restore', 'backup.tar', '--yes', '--trust']
  const restored = await homeport.run(trusted, other)
  expect([restored.exitCode, restored.stderr]).toEqual([0, ''])
  const stored = [...first.s3.stored(), 'files/restored']
  expect(second.s3.stored()).toEqual(stored.toSorted())
  expect((await homeport.run(['user', 'list'], other)).stdout).toContain('ann@example.com')
  const disk = { ...ON_DISK, DATA_DIR: 'disk' }
  expect((await homeport.run(trusted, disk)).exitCode).toBe(0)
  const files = await readdir(join(homeport.folder, 'disk', 'files'), { recursive: true })
  expect(files.filter((name) => name.endsWith('.txt'))).toHaveLength(5)
}, 30_000)

test('files are copied to an S3 store and back, and each copy is read back', async () => {
  await using homeport = await installExecutable()
  await using store = await startStore()
  const server = await homeport.start({ RATE_LIMITS: 'off' })
  const { accessToken } = await register(server, 'ann@example.com')
  for (let at = 0; at < 20; at++) await uploadText(server, accessToken, `file ${at}`)
  await server.stop()
  const { FILES_URL } = store.environment
  store.s3.faults.failing = 2
  const there = await homeport.run(['files', 'copy', '--to', FILES_URL, '--json'], KEYS)
  expect(JSON.parse(there.stdout)).toMatchObject({ copied: 20, there: 0 })
  const again = await homeport.run(['files', 'copy', '--to', FILES_URL, '--json'], KEYS)
  expect(JSON.parse(again.stdout)).toMatchObject({ copied: 0, there: 20 })
  const environment = { ...KEYS, DATA_DIR: 'back' }
  await homeport.run(['init'], environment)
  const back = await homeport.run(['files', 'copy', '--from', FILES_URL, '--json'], environment)
  expect(JSON.parse(back.stdout)).toMatchObject({ copied: 20, there: 0 })
  const [key = ''] = store.s3.stored()
  store.s3.objects.set(key, { bytes: Buffer.from('other'), lastModified: new Date() })
  const differs = await homeport.run(['files', 'copy', '--to', FILES_URL], KEYS)
  expect([differs.exitCode, differs.stderr]).toEqual([
    1,
    expect.stringContaining('differs: remove it and copy again'),
  ])
}, 30_000)

test('a copy and a backup fail and list missing files', async () => {
  await using homeport = await installExecutable()
  await using store = await startStore()
  const server = await homeport.start({ RATE_LIMITS: 'off' })
  const { accessToken } = await register(server, 'ann@example.com')
  for (let at = 0; at < 2; at++) await uploadText(server, accessToken, `file ${at}`)
  await server.stop()
  const folder = join(homeport.folder, 'data', 'files')
  const names = await readdir(folder, { recursive: true })
  const lost = names.find((name) => name.endsWith('.txt')) ?? ''
  await rm(join(folder, lost))
  const copy = await homeport.run(['files', 'copy', '--to', store.environment.FILES_URL], KEYS)
  const older = join(homeport.folder, 'data', 'backups', 'homeport-20260101T000000Z.tar')
  await Bun.write(older, 'complete')
  const backup = await homeport.run(['backup', '--keep', '1'])
  for (const { exitCode, stderr } of [copy, backup]) {
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(basename(lost))])
  }
  expect(await exists(older)).toBe(true)
}, 30_000)

async function allowChanges(url: string) {
  await using sql = new SQL({ url, max: 1 })
  await sql.unsafe(ALLOW_CHANGES)
}

async function changeEveryUser(url: string) {
  await using sql = new SQL({ url, max: 1 })
  await sql`UPDATE users SET created_at = created_at + 1`
}

async function markUnfinished(url: string) {
  await using sql = new SQL({ url, max: 1 })
  await sql`INSERT INTO shared_versions (name, version) VALUES ('copy', 0)`
}

async function startStore() {
  const s3 = await startS3({ bucket: 'homeport', accessKeyId: 'id', secretAccessKey: 'secret' })
  const environment = { ...KEYS, FILES_URL: `s3://homeport/files?endpoint=${s3.url}` }
  return { s3, environment, [Symbol.asyncDispose]: () => s3[Symbol.asyncDispose]() }
}
