import { Database } from 'bun:sqlite'
import { beforeAll, expect } from 'bun:test'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readMigrations } from '../../src/platform/db/migrations.ts'
import { migrate } from '../../src/platform/db/sqlite/migrate.ts'
import { openDatabase } from '../../src/platform/db/sqlite/open.ts'
import { onSqlite } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'

const MB = 1024 * 1024

beforeAll(buildExecutable, 300_000)

onSqlite('a snapshot is a copy of the database file')(
  'an interrupted snapshot does not get its final name',
  async () => {
    await using homeport = await installExecutable()
    await homeport.run(['init'])
    const dataDir = join(homeport.folder, 'data')
    const path = join(dataDir, 'homeport.db')
    const fileLimit = ['prlimit', `--fsize=${MB}`]
    for (const suffix of ['', '-wal', '-shm']) await rm(path + suffix, { force: true })
    const old = openDatabase(path)
    migrate(old, readMigrations('sqlite').slice(0, 5))
    old.run("INSERT INTO outbox VALUES ('1', 'mail', ?, 0, ?)", ['x'.repeat(3 * MB), 1e14])
    old.run('PRAGMA wal_checkpoint(TRUNCATE)')
    old.close()

    const { process } = await homeport.launch({ PORT: '0' }, fileLimit)
    expect(await process.exited).not.toBe(0)
    expect((await snapshots(dataDir)).filter((name) => name.endsWith('.db'))).toEqual([])

    await (await homeport.start()).stop()
    const [name = '', ...others] = await snapshots(dataDir)
    expect([name, others]).toEqual([expect.stringMatching(/^before-migration-6-\d+\.db$/), []])
    using snapshot = new Database(join(dataDir, 'snapshots', name), { readonly: true })
    expect(snapshot.query('PRAGMA integrity_check').values()).toEqual([['ok']])
    expect(snapshot.query('SELECT length(content) FROM outbox').values()).toEqual([[3 * MB]])
  },
  30_000,
)

onSqlite('a snapshot is a copy of the database file')(
  'a migration that fails or is killed leaves no snapshot',
  async () => {
    await using homeport = await installExecutable()
    await homeport.run(['init'])
    const dataDir = join(homeport.folder, 'data')
    const path = join(dataDir, 'homeport.db')
    for (const suffix of ['', '-wal', '-shm']) await rm(path + suffix, { force: true })
    const old = openDatabase(path)
    const migrations = readMigrations('sqlite')
    const adding = migrations.findIndex(({ tag }) => tag.endsWith('_identity_mail'))
    migrate(old, migrations.slice(0, adding))
    // The next migration adds this column.
    old.run('ALTER TABLE identities ADD mail_event_at integer')
    const { process } = await homeport.launch({ PORT: '0' })
    expect(await process.exited).not.toBe(0)
    expect(await snapshots(dataDir)).toEqual([])

    old.run('ALTER TABLE identities DROP mail_event_at')
    old.close()
    const killed = `before-migration-${migrations.length}-1.db`
    await Bun.write(join(dataDir, 'snapshots', killed), 'x')
    await Bun.write(join(dataDir, 'snapshots', 'migrating.txt'), killed)
    await (await homeport.start()).stop()
    expect(await snapshots(dataDir)).toEqual([
      expect.stringMatching(/^before-migration-\d+-\d{5,}\.db$/),
    ])
  },
  30_000,
)

function snapshots(dataDir: string): Promise<string[]> {
  return readdir(join(dataDir, 'snapshots'))
}
