import { beforeAll, expect, test } from 'bun:test'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { SQL } from 'bun'
import { createTestDatabase, isOnPostgres } from '../support/databases.ts'
import { buildExecutable, freePort, installExecutable } from '../support/executable.ts'
import { FAKETIME, fakeClock } from '../support/fake-clock.ts'
import { until } from '../support/until.ts'

const onPostgres = test.skipIf(!isOnPostgres)

beforeAll(buildExecutable, 300_000)

onPostgres(
  'reports an unusable database server in one sentence, without its password',
  async () => {
    await using homeport = await installExecutable()
    await homeport.run(['init'])
    await using foreign = await createTestDatabase({ isEmpty: true })
    const { DATABASE_URL: foreignUrl = '' } = foreign.environment
    await using sql = new SQL({ url: foreignUrl, max: 1 })
    await sql.unsafe('CREATE TABLE foreign_table (id integer)')
    const [missing, latin] = [new URL(foreignUrl), new URL(foreignUrl)]
    missing.pathname = '/none'
    latin.pathname = `${latin.pathname}_latin`
    const latinName = latin.pathname.slice(1)
    await sql.unsafe(
      `CREATE DATABASE ${latinName} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
    )
    for (const [environment, reason] of [
      [{ DATABASE_URL: foreignUrl }, 'contains tables of another program'],
      [{ DATABASE_URL: missing.href }, 'refuses'],
      [{ DATABASE_URL: latin.href }, 'encoding is LATIN1: create one with CREATE DATABASE'],
      [{ DATABASE_URL: 'postgres://ann:a-secret@127.0.0.1:1/homeport' }, 'cannot be reached'],
      [{ SECRET_KEY: 'another key of more than 32 characters' }, 'SECRET_KEY is not the one'],
    ] as const) {
      const { exitCode, stderr } = await homeport.run(['status'], environment)
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining(reason)])
      expect(stderr.trim().split('\n')).toHaveLength(1)
      expect(stderr).not.toContain('a-secret')
    }
    await sql.unsafe(`DROP DATABASE ${latinName}`)
  },
  60_000,
)

onPostgres(
  'warns about settings that lose changes if the database server crashes',
  async () => {
    await using homeport = await installExecutable()
    await homeport.run(['init'])
    const { stdout } = await homeport.run(['doctor'])
    expect(stdout).toMatch(/! database .* has fsync, full_page_writes, synchronous_commit off/)
  },
  60_000,
)

test.skipIf(!isOnPostgres || Bun.which('pgbouncer') === null)(
  'names the setting of a pooler that mixes up prepared statements',
  async () => {
    await using homeport = await installExecutable()
    await using database = await createTestDatabase()
    const url = new URL(database.environment['DATABASE_URL'] ?? '')
    const port = freePort()
    const ini = join(homeport.folder, 'pgbouncer.ini')
    await Bun.write(
      ini,
      `[databases]
* = host=127.0.0.1 port=${url.port}
[pgbouncer]
listen_addr=127.0.0.1
listen_port=${port}
auth_type=any
pool_mode=transaction
default_pool_size=1
`.replace('* = host', `${url.pathname.slice(1)} = user=${url.username} host`),
    )
    await chmod(homeport.folder, 0o755)
    await chmod(ini, 0o644)
    const log = join(homeport.folder, 'pooler')
    await using _pooler = Bun.spawn(['pgbouncer', ini], {
      uid: 65_534,
      gid: 65_534,
      stderr: Bun.file(log),
    })
    await until(
      async () => /process up/.test(await Bun.file(log).text()),
      'the pooler does not start',
    )
    url.port = String(port)
    // The first command leaves its statements on the connection that the second one gets.
    await homeport.run(['status'], { DATABASE_URL: url.href })
    const { exitCode, stderr } = await homeport.run(['status'], { DATABASE_URL: url.href })
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringContaining('set max_prepared_statements = 200 in pgbouncer'),
    ])
  },
  60_000,
)

test.skipIf(!isOnPostgres || FAKETIME === null)(
  "doctor reports a clock that differs from the database server's",
  async () => {
    await using homeport = await installExecutable()
    await using clock = fakeClock(homeport.folder)
    await homeport.run(['init'])
    await clock.set('+1137')
    const { exitCode, stdout } = await homeport.run(['doctor'], clock.environment)
    expect([exitCode, stdout]).toEqual([1, expect.stringMatching(/clock differs .* by 113\d s/)])
  },
  60_000,
)

onPostgres(
  'is not ready while the database server refuses changes, and doctor says so',
  async () => {
    await using homeport = await installExecutable()
    const server = await homeport.start()
    const url = new URL(homeport.environment['DATABASE_URL'] ?? '')
    const name = url.pathname.slice(1)
    url.pathname = '/postgres'
    await using sql = new SQL({ url, max: 1 })
    const setReadOnly = async (value: 'on' | 'off') => {
      await sql.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`)
      await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name}`
    }
    const waitFor = (status: number) =>
      until(
        async () => (await fetch(`${server.url}/ready`)).status === status,
        `/ready does not return ${status}`,
      )
    await setReadOnly('on')
    await waitFor(503)
    expect((await homeport.run(['health'])).exitCode).toBe(1)
    const isReported = async () => {
      const { stdout } = await homeport.run(['doctor'])
      // The first reported failure may be the lost connections.
      return /✗ server .* database \(.*read-only/.test(stdout) && stdout
    }
    const stdout = await until(isReported, 'doctor does not report a read-only server')
    expect(stdout).toMatch(/✗ database .* is read-only/)
    await setReadOnly('off')
    await waitFor(200)
    expect(await server.stop()).toBe(0)
  },
  60_000,
)

test('a missing SECRET_KEY is reported before connecting to the database server', async () => {
  await using homeport = await installExecutable()
  const DATABASE_URL = 'postgres://127.0.0.1:1/homeport'
  const { exitCode, stderr } = await homeport.run(['status'], { DATABASE_URL, SECRET_KEY: '' })
  expect([exitCode, stderr]).toEqual([78, expect.stringContaining('SECRET_KEY')])
})
