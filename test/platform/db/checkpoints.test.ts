import { Database } from 'bun:sqlite'
import { expect, spyOn, test } from 'bun:test'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { programCommand } from '../../../src/cli/processes/program-command.ts'
import { SYNC_FAILED } from '../../../src/platform/db/sqlite/background/checkpoints.ts'
import { createDb } from '../../../src/platform/db/sqlite/create-db.ts'
import { isIntact, openDatabase } from '../../../src/platform/db/sqlite/open.ts'
import { until } from '../../support/until.ts'

const MB = 1024 * 1024

test('another process copies the log of a busy database and may be killed at any time', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-checkpoints-'))
  const path = join(folder, 'test.db')
  const client = openDatabase(path)
  client.run('CREATE TABLE rows (id INTEGER PRIMARY KEY, content BLOB)')
  const db = createDb(client, {}, programCommand('checkpoint'))
  const insert = client.query('INSERT INTO rows (content) VALUES (randomblob(65536))')
  const write = () => db.write(async () => void insert.run())
  const sizeOf = async (file: string) => (await stat(file)).size

  // Twice: a second process takes over when the first is killed.
  for (const round of [1, 2]) {
    const before = await sizeOf(path)
    const isCopied = async () => {
      await write()
      return (await sizeOf(path)) >= before + 8 * MB
    }
    await until(isCopied, `the log is not copied in round ${round}`)
    const pid = await signalCopier(path, 'SIGKILL')
    await until(async () => (await findCopier(path)) !== pid, 'the process does not end')
  }
  await db.stopWriting('the test ends')
  const { count } = client.query('SELECT count(*) AS count FROM rows').get() as { count: number }
  const last = client.query('SELECT max(id) AS id FROM rows').get() as { id: number }
  await db.close()
  expect(count).toBe(last.id)
  expect(isIntact(path)).toBe(true)
  await rm(folder, { recursive: true })
}, 60_000)

test('a failed sync of the database is a disk failure, and keeps the log for the next process', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-unsynced-'))
  const path = join(folder, 'test.db')
  const client = openDatabase(path)
  client.run('CREATE TABLE rows (content BLOB)')
  const started = join(folder, 'started')
  const db = createDb(client, {}, ['sh', '-c', `echo >> ${started}; exit ${SYNC_FAILED}`])
  const write = () =>
    db.write(async () => client.run('INSERT INTO rows VALUES (randomblob(262144))'))
  for (let rows = 0; rows < 64; rows++) await write()
  expect(await db.diskFailure).toBe('disk')
  // No other process may copy the rest of the log, as if nothing were lost.
  for (let rows = 0; rows < 64; rows++) await write()
  expect(await Bun.file(started).text()).toBe('\n')
  await db.stopWriting('the test ends')
  await db.close()
  expect((await stat(`${path}-wal`)).size).toBeGreaterThan(8 * MB)
  client.close()
  await rm(folder, { recursive: true })
})

test('changes are committed even if the process that copies the log cannot start', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-no-copier-'))
  const client = openDatabase(join(folder, 'test.db'))
  client.run('CREATE TABLE rows (content BLOB)')
  const db = createDb(client, {}, [join(folder, 'missing')])
  for (let rows = 0; rows < 64; rows++)
    await db.write(async () => client.run('INSERT INTO rows VALUES (randomblob(262144))'))
  expect(client.query('SELECT count(*) AS count FROM rows').get()).toEqual({ count: 64 })
  await db.close()
  await rm(folder, { recursive: true })
})

test('background work waits while the log is long and being copied', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-long-log-'))
  const path = join(folder, 'test.db')
  const client = openDatabase(path)
  client.run('CREATE TABLE rows (content BLOB)')
  const db = createDb(client, {}, programCommand('checkpoint'))
  const write = () =>
    db.write(async () => client.run('INSERT INTO rows VALUES (randomblob(1048576))'))
  await db.pauseBatches()
  for (let rows = 0; rows < 40; rows++) await write()
  const canWriteWhileStopped = async () => {
    await signalCopier(path, 'SIGSTOP')
    const failure = await write().then(
      () => null,
      (error: Error) => error,
    )
    if (failure === null) return true
    // It was stopped while it held the lock.
    await signalCopier(path, 'SIGCONT')
    return false
  }
  await until(canWriteWhileStopped, 'the copier always holds the lock')
  while ((await stat(`${path}-wal`)).size < 200 * MB) await write()
  let hasPaused = false
  using sleeps = spyOn(Bun, 'sleep')
  const pause = db.pauseBatches().then(() => (hasPaused = true))
  await until(() => sleeps.mock.calls.length > 3, 'background work does not wait')
  expect(hasPaused).toBe(false)
  await signalCopier(path, 'SIGCONT')
  await pause
  await db.stopWriting('the test ends')
  await db.close()
  await rm(folder, { recursive: true })
}, 60_000)

test('leaves copying the log to Litestream, even when closing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-litestream-'))
  const path = join(folder, 'test.db')
  const client = openDatabase(path)
  client.run('CREATE TABLE rows (content BLOB)')
  // The last process to close a database copies its log; here Litestream still has it open.
  using other = new Database(path)
  other.query('SELECT 1 FROM rows').get()
  const db = createDb(client, {}, null)
  for (let rows = 0; rows < 300; rows++) {
    await db.write(async () => client.run('INSERT INTO rows VALUES (randomblob(65536))'))
  }
  const { size } = await stat(`${path}-wal`)
  expect(size).toBeGreaterThan(300 * 65_536)
  await db.stopWriting('the test ends')
  await db.close()
  expect((await stat(`${path}-wal`)).size).toBe(size)
  expect(other.query('SELECT count(*) AS count FROM rows').get()).toEqual({ count: 300 })
  await rm(folder, { recursive: true })
})

/** Signals the process that copies the log of this database; waits for it if it is still starting. */
async function signalCopier(path: string, signal: NodeJS.Signals): Promise<number> {
  const pid = await until(() => findCopier(path), 'no process copies the log')
  process.kill(pid, signal)
  return pid
}

async function findCopier(path: string): Promise<number | null> {
  for (const pid of await readdir('/proc')) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    if (command.includes(`checkpoint\0${path}`)) return Number(pid)
  }
  return null
}
