import { beforeAll, expect, test } from 'bun:test'
import { SQL } from 'bun'
import { createTestDatabase, isOnPostgres } from '../support/databases.ts'
import { buildExecutable, installExecutable } from '../support/executable.ts'
import { FAKETIME, fakeClock } from '../support/fake-clock.ts'

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

test('a missing SECRET_KEY is reported before connecting to the database server', async () => {
  await using homeport = await installExecutable()
  const DATABASE_URL = 'postgres://127.0.0.1:1/homeport'
  const { exitCode, stderr } = await homeport.run(['status'], { DATABASE_URL, SECRET_KEY: '' })
  expect([exitCode, stderr]).toEqual([78, expect.stringContaining('SECRET_KEY')])
})
