import { Database } from 'bun:sqlite'
import { beforeAll, expect, test } from 'bun:test'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readMigrations } from '../../src/platform/db/migrations.ts'
import { migrate } from '../../src/platform/db/sqlite/migrate.ts'
import { openDatabase } from '../../src/platform/db/sqlite/open.ts'
import { findLostRecords, startWrites } from '../support/acknowledged.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { fault } from '../support/fault.ts'
import { deliver, register } from '../support/requests.ts'

const MB = 1024 * 1024

beforeAll(buildExecutable, 300_000)

test(`a database with a garbage header is refused with advice and left unchanged ${fault(10)}`, async () => {
  await using homeport = await installExecutable()
  await homeport.run(['init'])
  const path = join(homeport.folder, 'data', 'homeport.db')
  const bytes = await Bun.file(path).bytes()
  bytes.fill(0x5a, 0, 100)
  await Bun.write(path, bytes)
  const { exitCode, stderr } = await homeport.run(['serve'], { PORT: '1' })
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('restore it from a backup')])
  expect(await Bun.file(path).bytes()).toEqual(bytes)
}, 20_000)

test(`a killed server that lost its write-ahead log starts with older, consistent data ${fault(13)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start()
  for (let at = 0; at < 50; at++) await deliver(server, `E${at}`)
  await server.stop('SIGKILL')
  const dataDir = join(homeport.folder, 'data')
  await rm(join(dataDir, 'homeport.db-wal'))
  const { exitCode } = await homeport.run(['doctor'], {
    RATES_PROVIDER: 'off',
    MIN_FREE_BYTES: '0',
  })
  const restarted = await homeport.start().catch(() => null)
  console.log(`13: doctor exited with ${exitCode}, the server ${restarted ? 'starts' : 'refuses'}`)
  if (restarted === null) return
  expect((await deliver(restarted, 'E0')).status).toBe(200)
  await restarted.stop()
  expect(findLostRecords({ events: ['E0'], emails: [], keys: [] }, dataDir).integrity).toEqual([
    'ok',
  ])
}, 20_000)

test(`a write-ahead log kept large by a long-running reader shrinks within a minute ${fault(18)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start({ RATE_LIMITS: 'off' })
  const { accessToken } = await register(server, 'ann@example.com')
  const path = join(homeport.folder, 'data', 'homeport.db')
  const reader = new Database(path, { readonly: true })
  reader.run('BEGIN')
  reader.query('SELECT count(*) FROM users').get()
  const note = 'x'.repeat(200_000)
  const size = async () => (await stat(`${path}-wal`)).size
  for (let at = 0; (await size()) < 300 * MB; at++) await deliver(server, `E${at}`, note)
  reader.run('COMMIT')
  reader.close()
  const load = startWrites(server, accessToken, 'after')
  const start = performance.now()
  while ((await size()) > 64 * MB && performance.now() - start < 60_000) await Bun.sleep(200)
  load.stop()
  await load.done
  console.log(
    `18: ${Math.round((await size()) / MB)} MB after ${Math.round(performance.now() - start)} ms`,
  )
  expect(await size()).toBeLessThanOrEqual(64 * MB)
  await server.stop()
}, 180_000)

test(`a migration killed at any moment leaves the old or the new schema ${fault(25)}`, async () => {
  await using homeport = await installExecutable()
  const migrations = readMigrations('sqlite')
  const dataDir = join(homeport.folder, 'data')
  const path = join(dataDir, 'homeport.db')
  const seen = new Set<number>()
  for (let round = 0; round < 50; round++) {
    await rm(dataDir, { recursive: true, force: true })
    await homeport.run(['init'])
    for (const name of ['', '-wal', '-shm']) await rm(path + name, { force: true })
    const old = openDatabase(path)
    migrate(old, migrations.slice(0, 5))
    old.run('PRAGMA wal_checkpoint(TRUNCATE)')
    old.close()
    const server = await homeport.launch({ PORT: '0' })
    await Bun.sleep(25 + Math.random() * 60)
    await server.stop('SIGKILL')
    using client = new Database(path)
    const { user_version } = client.query('PRAGMA user_version').get() as { user_version: number }
    seen.add(user_version)
    expect(client.query('PRAGMA integrity_check').values()).toEqual([['ok']])
  }
  console.log(`25: found ${[...seen].join(' and ')}`)
  for (const version of seen) expect([5, migrations.length]).toContain(version)
  const server = await homeport.start()
  expect(await server.stop()).toBe(0)
}, 120_000)

test(`two stop signals of any kind end the server immediately with consistent data ${fault(30)}`, async () => {
  await using homeport = await installExecutable()
  const dataDir = join(homeport.folder, 'data')
  for (let round = 0; round < 30; round++) {
    const server = await homeport.start({ RATE_LIMITS: 'off' })
    const { accessToken } = await register(server, `ann${round}@example.com`)
    const load = startWrites(server, accessToken, `r${round}`)
    await Bun.sleep(100)
    const signal = (['SIGTERM', 'SIGINT', 'SIGHUP'] as const)[round % 3] ?? 'SIGTERM'
    server.process.kill(signal)
    server.process.kill(signal)
    const start = performance.now()
    expect(await server.process.exited).toBe(0)
    expect(performance.now() - start).toBeLessThan(2_000)
    load.stop()
    await load.done
    const { integrity, rowsWithoutFile } = findLostRecords(
      { events: [], emails: [], keys: [] },
      dataDir,
    )
    expect([integrity, rowsWithoutFile]).toEqual([['ok'], []])
  }
}, 120_000)
