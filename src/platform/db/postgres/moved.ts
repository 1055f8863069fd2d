import { MOVED_STATE } from './errors.ts'
import type { Pool, Run } from './pool.ts'

/** The statement that takes `refuseChanges` back. */
export const ALLOW_CHANGES = 'DROP FUNCTION homeport_moved() CASCADE'
/** The lock of CREATE TRIGGER waits for changes under way: none commits after it. Runs again without harm. */
const REFUSE = `CREATE OR REPLACE FUNCTION homeport_moved() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN RAISE EXCEPTION 'homeport db copy has moved this data' USING ERRCODE = '${MOVED_STATE}'; END $function$;
DO $block$ DECLARE name text; BEGIN
FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1 LOOP
EXECUTE format('DROP TRIGGER IF EXISTS homeport_moved ON %I', name);
EXECUTE format('CREATE TRIGGER homeport_moved BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %I
FOR EACH STATEMENT EXECUTE FUNCTION homeport_moved()', name);
END LOOP; END $block$;`
const FIND = "SELECT obj_description(to_regproc('homeport_moved')::oid, 'pg_proc')"
/** Other users, such as of monitoring, make no changes of ours. */
const COUNT_OTHERS = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
AND usename = current_user AND backend_type = 'client backend' AND pid <> pg_backend_pid()`
/** A process that has just ended is gone by then, in ms. */
const SECOND_LOOK = 500

/** Makes the server refuse every change, by whatever version of homeport, because the data moves to `place`. */
export async function refuseChanges(pool: Pool, place: string) {
  const quoted = `'${place.replaceAll("'", "''")}'`
  // Statements that are sent together are one transaction.
  await pool.read(`${REFUSE} COMMENT ON FUNCTION homeport_moved() IS ${quoted}`, [])
}

/** Where the data moves or has moved; null while changes are taken. */
export async function movedTo(read: Run): Promise<string | null> {
  const [[place] = []] = await read(FIND, [])
  return typeof place === 'string' ? place : null
}

/** How many other connections this user has to the database; `read` must have only one. */
export async function countOthers(read: Run): Promise<number> {
  for (let looks = 1; ; looks++) {
    const [[count] = []] = await read(COUNT_OTHERS, [])
    if (looks === 3 || Number(count) === 0) return Number(count)
    await Bun.sleep(SECOND_LOOK)
  }
}
