import { Database } from 'bun:sqlite'
import { beforeAll, expect, test } from 'bun:test'
import { chmod, rename, rm, stat, symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { commands } from '../../src/cli/commands.ts'
import { listSnapshots } from '../../src/cli/data/snapshots.ts'
import { formatUnit, readDataDir } from '../../src/cli/service/unit.ts'
import { undoMigration } from '../../src/cli/service/upgrade.ts'
import { readConfig } from '../../src/config/config.ts'
import { hashFile } from '../../src/lib/crypto/hash.ts'
import { readMigrations } from '../../src/platform/db/migrations.ts'
import { migrate } from '../../src/platform/db/sqlite/migrate.ts'
import { countAppliedMigrations, openDatabase } from '../../src/platform/db/sqlite/open.ts'
import { isOnPostgres, onSqlite } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'

beforeAll(buildExecutable, 300_000)

const MIGRATIONS = readMigrations('sqlite')
const OLD = MIGRATIONS.length - 1
/** Commands that change the schema or do not open the data. */
const SCHEMA_COMMANDS = /^(serve|migrate|upgrade|restore|restart|service .*)$/

/** A data directory with the schema before the last migration. */
async function installWithOldSchema() {
  const homeport = await installExecutable()
  await homeport.run(['init'])
  const path = join(homeport.folder, 'data', 'homeport.db')
  await rm(path)
  const client = openDatabase(path)
  migrate(client, MIGRATIONS.slice(0, OLD))
  client.close()
  return { homeport, path }
}

/** The kinds of content that all apps read again. */
function readKindsToReload(path: string) {
  using database = new Database(path, { readonly: true })
  return database.query('SELECT kind FROM user_changes WHERE user_id IS NULL').all()
}

onSqlite('PostgreSQL is tested below')(
  'only serve, migrate, upgrade and restore change a schema: other commands refuse',
  async () => {
    const { homeport, path } = await installWithOldSchema()
    await using _ = homeport
    const names = commands.map(({ name }) => name.split(' ')[0])
    for (const [at, { name, arguments: args = '' }] of commands.entries()) {
      // One command per group is enough, because its commands all open the data in the same way.
      if (SCHEMA_COMMANDS.test(name) || names.indexOf(name.split(' ')[0]) < at) continue
      const { stderr } = await homeport.run([
        ...name.split(' '),
        ...args
          .replace(/\[.*/, '')
          .replaceAll(/<[^>]*>/g, 'ann')
          .split(' ')
          .filter(Boolean),
      ])
      expect([name, countAppliedMigrations(path)]).toEqual([name, OLD])
      expect([name, stderr]).toEqual([name, expect.not.stringContaining('    at ')])
    }
    for (const args of [['status'], ['user', 'list'], ['openapi'], ['init'], ['settings', 'get']]) {
      const { exitCode, stderr } = await homeport.run(args)
      expect([args, exitCode, stderr]).toEqual([
        args,
        1,
        `The database has the schema of an older version (${OLD} of ${MIGRATIONS.length} migrations), which this command does not change: run "homeport migrate", or start the server.\n`,
      ])
    }
    const to = 'postgres://localhost:1/x'
    const copy = await homeport.run(['db', 'copy', '--to', to], { SECRET_KEY: 'x'.repeat(32) })
    expect(copy.stderr).toContain('does not change')
    expect((await homeport.run(['migrate'])).exitCode).toBe(0)
    expect((await homeport.run(['status', '--json'])).stderr).toBe('')
  },
  60_000,
)

test.skipIf(!isOnPostgres)(
  'commands do not change an empty PostgreSQL database',
  async () => {
    await using homeport = await installExecutable()
    for (const args of [['status'], ['backup']]) {
      const { exitCode, stderr } = await homeport.run(args)
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining('The database is empty')])
    }
    expect((await homeport.run(['init'])).exitCode).toBe(0)
    expect((await homeport.run(['backup'])).exitCode).toBe(0)
  },
  30_000,
)

onSqlite('snapshots are files')(
  'rolls a migration back to its snapshot and sets the later data aside',
  async () => {
    const { homeport, path } = await installWithOldSchema()
    await using _ = homeport
    const { run } = homeport
    const none = await run(['migrate', '--back-to-snapshot', '--yes'])
    expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining('no snapshot')])
    await run(['migrate'])
    await run(['settings', 'set', 'ios.latestVersion=7.7.7'])
    expect((await run(['migrate', '--back-to-snapshot'])).stderr).toContain('Add --yes')
    expect(countAppliedMigrations(path)).toBe(MIGRATIONS.length)

    const back = await run(['migrate', '--back-to-snapshot', '--yes', '--json'])
    const { snapshot, aside, migration } = JSON.parse(back.stdout)
    expect([back.exitCode, migration, countAppliedMigrations(path)]).toEqual([0, OLD + 1, OLD])
    expect(await Bun.file(aside).text()).toContain('7.7.7')
    expect(readKindsToReload(path)).toHaveLength(4)

    // As if the last rollback had been killed before the copy took its place.
    await rename(path, `${aside}-2`)
    expect((await run(['migrate', '--back-to-snapshot', '--yes'])).exitCode).toBe(0)
    expect(countAppliedMigrations(path)).toBe(OLD)

    // The rolled-back database is a copy, so the snapshot can be used again.
    const before = await hashFile(snapshot)
    await run(['migrate'])
    await run(['settings', 'set', 'ios.latestVersion=8.8.8'])
    expect(await hashFile(snapshot)).toBe(before)
    const wrong = await run(['migrate', '--back-to-snapshot', 'x', '--yes'])
    expect([wrong.exitCode, wrong.stderr]).toEqual([
      2,
      expect.stringContaining('use one of before-'),
    ])
  },
  30_000,
)

onSqlite('snapshots are files')(
  'does not roll back while the server is running',
  async () => {
    const { homeport } = await installWithOldSchema()
    await using _ = homeport
    const server = await homeport.start()
    const { exitCode, stderr } = await homeport.run(['migrate', '--back-to-snapshot', '--yes'])
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('stop it first')])
    expect(await server.stop()).toBe(0)
  },
  30_000,
)

test("root finds the service's data directory in its unit", () => {
  const places = { user: 'homeport', home: '/srv/app', executable: '/bin/homeport' }
  expect(readDataDir(formatUnit({ ...places, environment: '/etc/homeport.env' }))).toBe(
    '/srv/app/data',
  )
  expect(readDataDir('[Service]\n')).toBeNull()
})

test.skipIf(process.getuid?.() !== 0 || isOnPostgres)(
  'data rolled back by root belongs to the service user, and links in it are not followed',
  async () => {
    const { homeport, path } = await installWithOldSchema()
    await using _ = homeport
    await homeport.run(['migrate'])
    const config = readConfig({}, { DATA_DIR: join(homeport.folder, 'data') })
    const [snapshot] = await listSnapshots(config)
    if (!snapshot) throw new Error('there is no snapshot')
    const nobody = 65_534
    const { folder } = homeport
    const executable = join(folder, 'homeport')
    await Bun.$`chown -R ${nobody}:${nobody} ${folder}`
    const target = join(folder, '..', `${basename(folder)}-of-root`)
    await Bun.write(target, 'of root')
    await chmod(target, 0o600)
    await symlink(target, `${path}.incoming`)
    await expect(undoMigration(config, executable, 0)).rejects.toThrow()
    expect([await Bun.file(target).text(), (await stat(target)).uid]).toEqual(['of root', 0])
    for (const link of [target, `${path}.incoming`]) await rm(link)
    expect(await undoMigration(config, executable, 0)).toContain('The data that the new version')
    const { uid, gid, mode } = await stat(path)
    expect([uid, gid, mode & 0o777]).toEqual([nobody, nobody, 0o600])
  },
  30_000,
)
