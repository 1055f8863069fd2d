import { HOUR_MS } from '../../../lib/durations.ts'
import type { OpenDb, Reader } from '../db.ts'
import { createSharedCache } from './cached.ts'
import { asAppError } from './errors.ts'
import { movedTo } from './moved.ts'
import { createPool, type Pool, type Run } from './pool.ts'
import { queriesOver } from './queries.ts'
import { createWriter } from './write.ts'

/** The data layer over PostgreSQL. */
type PostgresDb<Tables> = OpenDb<Tables> & {
  /** Whether rows are still to be copied into this database. */
  isCopyUnfinished(): Promise<boolean>
  noteCopy(isUnfinished: boolean): Promise<void>
}

/** Connections of one instance: reads, changes, and two for a change that is alone and its lock. */
type Sizes = { reads: number; changes: number }

type Pools = { reads: Pool; changes: Pool }

/** How long the server's answer is waited for, in ms. */
const DEADLINE = 3_000
/** A slot further ahead than this, in ms, was claimed by a wrong clock: it would hold every run until then. */
const CLAIM_TRUST = HOUR_MS
/** Only the later slot of a timer wins, and only one claim of it; that may be asked again when its answer was lost. */
const CLAIM = `INSERT INTO timer_runs (name, slot, claim) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET slot = excluded.slot, claim = excluded.claim
WHERE timer_runs.slot < excluded.slot OR timer_runs.slot > excluded.slot + ${CLAIM_TRUST}
OR timer_runs.claim = excluded.claim RETURNING name`
const READ_CLOCK = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)'
/** The mark of a copy stands among the versions of what instances share. */
const FIND_COPY = "SELECT 1 FROM shared_versions WHERE name = 'copy'"
const BEGIN_COPY =
  "INSERT INTO shared_versions (name, version) VALUES ('copy', 0) ON CONFLICT DO NOTHING"
const END_COPY = "DELETE FROM shared_versions WHERE name = 'copy'"

/** Connections to the server at `url`; they are made when they are needed. `connections` is their number in all. */
export function openPools(url: string, connections: number, deadline = DEADLINE): Pools {
  const { reads, changes } = sizesOf(connections)
  return {
    reads: createPool({ url, max: reads, deadline }),
    changes: createPool({ url, max: changes + 2, deadline }),
  }
}

/** A quarter reads: a change has its connection from its begin to its end. */
function sizesOf(connections: number): Sizes {
  const reads = Math.max(1, Math.round(connections / 4))
  return { reads, changes: Math.max(1, connections - reads - 2) }
}

/** The data layer over a server whose schema is up to date. `url` is that of the pools. */
export function createPostgresDb<Tables>(
  { reads, changes }: Pools,
  { url, connections }: { url: string; connections: number },
  tables: Tables,
): PostgresDb<Tables> {
  const read: Run = (query, params) =>
    reads.read(query, params).catch((error) => Promise.reject(asAppError(error)))
  const queries = queriesOver(read)
  const writer = createWriter({ pool: changes, limit: sizesOf(connections).changes })
  const { cached } = createSharedCache(queries, { read, change: writer.run })
  return {
    tables,
    read: queries,
    write: writer.write,
    prepareWrite: writer.prepareWrite,
    cached,
    place: withoutPassword(url),
    size: async () =>
      Number((await read('SELECT pg_database_size(current_database())', []))[0]?.[0]),
    isShared: true,
    isCopyUnfinished: async () => (await changes.read(FIND_COPY, [])).length > 0,
    noteCopy: async (isUnfinished) =>
      void (await changes.read(isUnfinished ? BEGIN_COPY : END_COPY, [])),
    claimTimer: (name, slot) => claimTimer(changes, name, slot),
    clockSkew: (wall) => clockSkew(reads, wall),
    writeStats: writer.stats,
    // The server looks after its disk.
    diskFailure: new Promise(() => {}),
    isWritable: () => isWritable(changes),
    dropCaches() {},
    // The server has its own, and vacuums by itself.
    emptyLog: async () => {},
    stopWriting: writer.stop,
    async close() {
      await Promise.allSettled([reads.close(), changes.close()])
    },
  }
}

/** Reads of the database as it is now, until the end. */
export async function openSnapshot(pool: Pool): Promise<{ read: Reader; end: () => void }> {
  const connection = await pool.reserve()
  await connection.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', [])
  return { read: queriesOver(connection.run), end: () => connection.release(true) }
}

async function claimTimer(pool: Pool, name: string, slot: Date): Promise<boolean> {
  return (await pool.read(CLAIM, [name, slot.getTime(), crypto.randomUUID()])).length > 0
}

/** By how many ms `wall` is ahead of the server's clock; 0 for less than the answer took. */
export async function clockSkew(pool: Pick<Pool, 'read'>, wall: () => number): Promise<number> {
  const asked = wall()
  const [[theirs] = []] = await pool.read(READ_CLOCK, [])
  const answered = wall()
  const skew = (asked + answered) / 2 - Number(theirs)
  return Math.abs(skew) > answered - asked ? skew : 0
}

/** A server that takes over can be read before it can be written; data that was moved stays as it is. */
async function isWritable(pool: Pool): Promise<boolean> {
  try {
    const [[canWrite] = []] = await pool.read('SELECT NOT pg_is_in_recovery()', [])
    return canWrite === true && (await movedTo(pool.read)) === null
  } catch {
    return false
  }
}

/** What may be shown of the URL of a database. */
export function withoutPassword(url: string): string {
  const shown = new URL(url)
  // A password that is not percent-encoded goes on behind what is taken for the host.
  if (shown.href.lastIndexOf('@') > shown.href.indexOf('/', shown.protocol.length + 2))
    return 'the server of the URL (percent-encode its password)'
  shown.password = ''
  shown.search = ''
  return shown.href
}
