import type { Run } from '../../platform/db/compiled-query.ts'
import type { Migration } from '../../platform/db/migrations.ts'
import { DatabaseRefusal } from '../../platform/db/postgres/errors.ts'
import { countAppliedMigrations } from '../../platform/db/postgres/migrate.ts'

type Need = 'read' | 'write' | 'migrate'

/** Selects the role, its search_path and schema, and the owners of our tables on which the role lacks privileges. */
const FIND_MISSING_PRIVILEGES = `SELECT quote_ident(current_user), current_setting('search_path'), schema::regnamespace::text,
has_schema_privilege(schema, 'CREATE'),
string_agg(DISTINCT owner, ', ') FILTER (WHERE NOT has_table_privilege(oid, 'SELECT')),
string_agg(DISTINCT owner, ', ') FILTER (WHERE NOT (has_table_privilege(oid, 'SELECT')
AND has_table_privilege(oid, 'INSERT') AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE'))),
string_agg(DISTINCT owner, ', ') FILTER (WHERE NOT pg_has_role(relowner, 'USAGE'))
FROM (SELECT coalesce((SELECT relnamespace FROM pg_class WHERE oid = to_regclass('homeport')),
to_regnamespace(quote_ident(current_schema()))) AS schema) AS place
LEFT JOIN (SELECT oid, relnamespace, relowner, relowner::regrole::text AS owner FROM pg_class
WHERE relkind = 'r' AND to_regclass('homeport') IS NOT NULL AND relname = ANY (string_to_array($1, ','))) AS tables ON relnamespace = schema GROUP BY schema`

/** Throws `DatabaseRefusal` if the role lacks privileges; the message says which role to use or statement to run. */
export async function requirePrivileges(read: Run, migrations: Migration[], need: Need) {
  const problem = await describeMissingPrivileges(read, migrations, need)
  if (problem !== null) throw new DatabaseRefusal(problem)
}

/** Describes the missing privileges, including those for pending migrations, and how to grant them; null if none. */
export async function describeMissingPrivileges(
  read: Run,
  migrations: Migration[],
  need: Need,
): Promise<string | null> {
  const [row = []] = await read(FIND_MISSING_PRIVILEGES, [tableNames(migrations).join(',')])
  const [role, path, schema, mayCreate, unreadable, unchangeable, foreign] = row
  if (schema === null)
    return `The role ${role} may not use any schema in its search_path (${path}): run "GRANT USAGE, CREATE ON SCHEMA … TO ${role}", or create the schema with "CREATE SCHEMA … AUTHORIZATION ${role}".`
  const [owners, action, rights] =
    need === 'read'
      ? [unreadable, 'read', 'SELECT']
      : [unchangeable, 'change', 'SELECT, INSERT, UPDATE, DELETE']
  if (owners !== null)
    return `Tables in the schema ${schema} belong to ${owners}, and the role ${role} may not ${action} them: connect as ${owners}, or run "GRANT ${rights} ON ALL TABLES IN SCHEMA ${schema} TO ${role}" as ${owners}.`
  if (need === 'read') return null
  if (need === 'write' && (await countAppliedMigrations({ run: read })) >= migrations.length)
    return null
  if (foreign !== null)
    return `Tables in the schema ${schema} belong to ${foreign}, so the role ${role} cannot alter them: connect as ${foreign} (you only need to run "homeport migrate" as that role), or make ${role} their owner, with "REASSIGN OWNED BY ${foreign} TO ${role}" or "ALTER TABLE … OWNER TO ${role}".`
  if (mayCreate) return null
  return `The role ${role} may not create tables in the schema ${schema}: run "GRANT USAGE, CREATE ON SCHEMA ${schema} TO ${role}" in this database as its owner.`
}

function tableNames(migrations: Migration[]): string[] {
  const created = migrations.flatMap(({ statements }) =>
    statements.flatMap((statement) => /CREATE TABLE "(\w+)"/.exec(statement)?.[1] ?? []),
  )
  return ['homeport', ...created]
}
