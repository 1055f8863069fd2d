import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { connectPostgres, postgresStatus } from '../../src/cli/data/open-postgres.ts'
import { readConfig } from '../../src/config/config.ts'
import { createTestDatabase, isOnPostgres } from '../support/databases.ts'

const onPostgres = test.skipIf(!isOnPostgres)

onPostgres(
  'the server and doctor name the statement that grants a role its privileges',
  async () => {
    await using setup = await openAsRole()
    const { run, role, refusal } = setup
    await run(`REVOKE ALL ON SCHEMA public FROM PUBLIC`)
    expect(await refusal()).toContain(`"GRANT USAGE, CREATE ON SCHEMA … TO ${role}"`)
    await run(`GRANT USAGE ON SCHEMA public TO ${role}`)
    const grant = `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`
    expect(await refusal()).toContain(
      `belong to postgres, and the role ${role} may not change them`,
    )
    expect(await refusal()).toContain(`connect as postgres, or run "${grant}" as postgres`)
    await run(`GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`)
    expect(await refusal()).toContain(grant)
    expect(await refusal({ readOnly: true })).toBeNull()
    await run(grant)
    expect(await refusal()).toBeNull()
  },
)

onPostgres('a pending migration requires the owner of the tables', async () => {
  await using setup = await openAsRole()
  const { run, role, refusal } = setup
  await run(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`)
  await run('UPDATE homeport SET version = version - 1')
  expect(await refusal()).toContain('belong to postgres, so the role')
  await run(
    `DO $$ DECLARE name text; BEGIN FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
LOOP EXECUTE format('ALTER TABLE %I OWNER TO ${role}', name); END LOOP; END $$`,
  )
  expect(await refusal()).toContain(`"GRANT USAGE, CREATE ON SCHEMA public TO ${role}"`)
})

onPostgres('requires no privileges on tables of other programs', async () => {
  await using setup = await openAsRole()
  const { run, role, refusal } = setup
  await run(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`)
  await run('CREATE TABLE report (id bigint)')
  expect(await refusal()).toBeNull()
})

onPostgres('explains an empty database, a missing schema and a read-only role', async () => {
  await using setup = await openAsRole({ isEmpty: true })
  const { run, role, refusal } = setup
  expect(await refusal()).toContain(`"GRANT USAGE, CREATE ON SCHEMA public TO ${role}"`)
  await run(`ALTER ROLE ${role} SET search_path = nowhere`)
  expect(await refusal()).toContain('may not use any schema in its search_path (nowhere)')
  await run(`ALTER ROLE ${role} RESET search_path`)
  await run(`GRANT CREATE ON SCHEMA public TO ${role}`)
  await run('CREATE TABLE users (id bigint)')
  expect(await refusal()).toContain('contains tables of another program')
  await run('DROP TABLE users')
  await run(`ALTER ROLE ${role} SET default_transaction_read_only = on`)
  expect(await refusal()).toContain('turn off default_transaction_read_only')
  await run(`ALTER ROLE ${role} RESET default_transaction_read_only`)
  await run(`ALTER ROLE ${role} CONNECTION LIMIT 0`)
  expect(await refusal()).toContain('raise max_connections of the server, or the limit of the role')
})

/** A database owned by `postgres`, and the error that another role gets at startup. */
async function openAsRole(options: { isEmpty?: boolean } = {}) {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createTestDatabase(options))
  const url = new URL(database.environment['DATABASE_URL'] ?? '')
  const sql = stack.use(new SQL({ url: url.href, max: 1 }))
  const role = `role_${crypto.randomUUID().replaceAll('-', '')}`
  const run = (statement: string) => sql.unsafe(statement)
  await run(`CREATE ROLE ${role} LOGIN`)
  stack.defer(async () => {
    await run(`REASSIGN OWNED BY ${role} TO postgres; DROP OWNED BY ${role}; DROP ROLE ${role}`)
  })
  url.username = role
  const disposal = stack.move()
  return { run, role, refusal, [Symbol.asyncDispose]: () => disposal.disposeAsync() }

  /** The error message at startup; null if there is none. For missing privileges, doctor reports the same. */
  async function refusal(extras: { readOnly?: boolean } = {}): Promise<string | null> {
    const config = readConfig({}, { ...database.environment, DATABASE_URL: url.href })
    const opened = await connectPostgres(url.href, config, {
      connections: 3,
      schema: 'migrate',
      ...extras,
    }).catch((error: Error) => error)
    if (opened instanceof Error) {
      const status = await postgresStatus(config).catch(() => null)
      const isAboutPrivileges = /GRANT|belong to/.test(opened.message)
      if (isAboutPrivileges)
        expect(opened.message).toContain(status?.missingPrivileges ?? 'no status')
      return opened.message
    }
    await opened.close()
    return null
  }
}
