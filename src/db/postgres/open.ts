import type { OpenDb } from '../db.ts'
import { createSharedCache } from './cached.ts'
import { asAppError } from './errors.ts'
import { createPool, type Pool, type Run } from './pool.ts'
import { queriesOver } from './queries.ts'
import { createWriter } from './write.ts'

/** Connections of one instance: reads, changes, and one for the lock of those that are alone. */
type Sizes = { reads: number; changes: number }

type Pools = { reads: Pool; changes: Pool }

/** How long the server's answer is waited for, in ms. */
const DEADLINE = 3_000
/** Only the later slot of a timer wins, and only once. */
const CLAIM = `INSERT INTO timer_runs (name, slot) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET slot = excluded.slot WHERE timer_runs.slot < excluded.slot RETURNING name`

/** Connections to the server at `url`; they are made when they are needed. `connections` is their number in all. */
export function openPools(url: string, connections: number): Pools {
  const { reads, changes } = sizesOf(connections)
  return {
    reads: createPool({ url, max: reads, deadline: DEADLINE }),
    changes: createPool({ url, max: changes + 1, deadline: DEADLINE }),
  }
}

/** A quarter reads: a change has its connection from its begin to its end. */
function sizesOf(connections: number): Sizes {
  const reads = Math.max(1, Math.round(connections / 4))
  return { reads, changes: Math.max(1, connections - reads - 1) }
}

/** The data layer over a server whose schema is up to date. `url` is that of the pools. */
export function createPostgresDb<Tables>(
  { reads, changes }: Pools,
  { url, connections }: { url: string; connections: number },
  tables: Tables,
): OpenDb<Tables> {
  const read: Run = (query, params) =>
    reads.read(query, params).catch((error) => Promise.reject(asAppError(error)))
  const queries = queriesOver(read)
  const writer = createWriter({ pool: changes, limit: sizesOf(connections).changes })
  const { cached } = createSharedCache({ read, change: writer.run })
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
    claimTimer: (name, slot) => claimTimer(changes, name, slot),
    writeStats: writer.stats,
    // The server looks after its disk.
    diskFailure: new Promise(() => {}),
    isWritable: () => isWritable(changes),
    dropCaches() {},
    stopWriting: writer.stop,
    async close() {
      await Promise.allSettled([reads.close(), changes.close()])
    },
  }
}

async function claimTimer(pool: Pool, name: string, slot: Date): Promise<boolean> {
  return (await pool.read(CLAIM, [name, slot.getTime()])).length > 0
}

/** A server that takes over from another one can be read from before it can be written to. */
async function isWritable(pool: Pool): Promise<boolean> {
  const rows = await pool.read('SELECT NOT pg_is_in_recovery()', []).catch(() => [])
  return rows[0]?.[0] === true
}

/** What may be shown of the URL of a database. */
export function withoutPassword(url: string): string {
  const shown = new URL(url)
  shown.password = ''
  shown.search = ''
  return shown.href
}
