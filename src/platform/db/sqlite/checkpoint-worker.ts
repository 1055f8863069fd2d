import { Database } from 'bun:sqlite'
import { fdatasyncSync, openSync } from 'node:fs'

type Pass = { busy: number; log: number; checkpointed: number }

const PAUSE_MS = 200
/** A log of LONG_LOG pages is restarted once at most FEW_LEFT of them remain to be copied. */
const LONG_LOG = 24_000
const FEW_LEFT = 64
/** How long the writing process may wait for the last pages. */
const RESTART_WAIT_MS = 10
/** The worker ends after this time without anything to copy. */
const IDLE_TIMEOUT_MS = 5_000

/**
 * Copies the log of the database at `path` into it while another process writes, until it is idle. Empties the log
 * once, because it still contains deleted data.
 */
export async function copyLogUntilIdle(path: string) {
  const client = new Database(path, { readwrite: true })
  const file = openSync(path, 'r+')
  for (const pragma of ['synchronous = FULL', 'mmap_size = 0', 'wal_autocheckpoint = 0']) {
    client.run(`PRAGMA ${pragma}`)
  }
  let isEmptied = false
  for (
    let lastWork = Date.now();
    Date.now() - lastWork < IDLE_TIMEOUT_MS;
    await Bun.sleep(PAUSE_MS)
  ) {
    const { log, left } = copy()
    if (left > 0) lastWork = Date.now()
    if (!isEmptied && left <= FEW_LEFT) isEmptied = pass('TRUNCATE', RESTART_WAIT_MS).busy === 0
    // Copies again immediately, so that the restart has few pages left to wait for.
    if (log >= LONG_LOG && copy().left <= FEW_LEFT) pass('RESTART', RESTART_WAIT_MS)
  }

  /** Copies the log. SQLite syncs only once all of it is copied, and one large sync would take too long. */
  function copy(): { log: number; left: number } {
    const { log, checkpointed } = pass('PASSIVE', 0)
    if (checkpointed < log) fdatasyncSync(file)
    return { log, left: log - checkpointed }
  }

  function pass(mode: 'PASSIVE' | 'RESTART' | 'TRUNCATE', wait: number): Pass {
    client.run(`PRAGMA busy_timeout = ${wait}`)
    return client.query(`PRAGMA wal_checkpoint(${mode})`).get() as Pass
  }
}
