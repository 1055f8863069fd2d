import type { Run } from '../compiled-query.ts'
import { MOVED_STATE } from './errors.ts'
import type { Pool } from './pool.ts'

/** The statement that undoes `refuseChanges`. */
export const ALLOW_CHANGES = 'DROP FUNCTION homeport_moved() CASCADE'
/** The lock of CREATE TRIGGER waits for changes under way, so that none commits after it. Idempotent. */
const REFUSE = `CREATE OR REPLACE FUNCTION homeport_moved() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN RAISE EXCEPTION 'homeport db copy has moved this data' USING ERRCODE = '${MOVED_STATE}'; END $function$;
DO $block$ DECLARE name text; BEGIN
FOR name IN SELECT oid::regclass FROM pg_class WHERE relkind = 'r'
AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('homeport')) ORDER BY relname LOOP
EXECUTE format('DROP TRIGGER IF EXISTS homeport_moved ON %s', name);
EXECUTE format('CREATE TRIGGER homeport_moved BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s
FOR EACH STATEMENT EXECUTE FUNCTION homeport_moved()', name);
END LOOP; END $block$;`
const FIND = "SELECT obj_description(to_regproc('homeport_moved')::oid, 'pg_proc')"
/** Connections of other users, such as monitoring, are not counted. */
const COUNT_OTHERS = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
AND usename = current_user AND backend_type = 'client backend' AND pid <> pg_backend_pid()`
/** Long enough for the connections of a process that has just exited to be gone. */
const RECHECK_AFTER_MS = 500

/** Makes the server refuse changes by any version of Homeport, because the data moves to `place`. */
export async function blockChanges(pool: Pool, place: string) {
  const quoted = `'${place.replaceAll("'", "''")}'`
  // Statements sent together run as one transaction.
  await pool.read(`${REFUSE} COMMENT ON FUNCTION homeport_moved() IS ${quoted}`, [])
}

/** Where the data moves or has moved to; null while changes are accepted. */
export async function movedTo(read: Run): Promise<string | null> {
  const [[place] = []] = await read(FIND, [])
  return typeof place === 'string' ? place : null
}

/** The number of this user's other connections; `read` must use only one. */
export async function countOtherConnections(read: Run): Promise<number> {
  for (let checks = 1; ; checks++) {
    const [[count] = []] = await read(COUNT_OTHERS, [])
    if (checks === 3 || Number(count) === 0) return Number(count)
    await Bun.sleep(RECHECK_AFTER_MS)
  }
}
