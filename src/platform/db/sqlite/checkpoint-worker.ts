import { Database } from 'bun:sqlite'
import { fdatasyncSync, openSync } from 'node:fs'

type Pass = { busy: number; log: number; checkpointed: number }

const PAUSE = 200
/** A log of so many pages is begun anew as soon as no more than so few of them are left to copy. */
const LONG_LOG = 24_000
const FEW_LEFT = 64
/** The other process waits while the last pages are copied: for so many ms at most. */
const RESTART_WAIT = 10
/** Without anything to copy for so long, in ms, there is nothing to do here. */
const IDLE_TIMEOUT = 5_000

/**
 * Copies the log of the database at `path` into it while another process writes, until there is nothing to do. It empties
 * the log once, for what was deleted is still in it.
 */
export async function copyLogUntilIdle(path: string) {
  const client = new Database(path, { readwrite: true })
  const file = openSync(path, 'r+')
  for (const pragma of ['synchronous = FULL', 'mmap_size = 0', 'wal_autocheckpoint = 0']) {
    client.run(`PRAGMA ${pragma}`)
  }
  let isEmptied = false
  for (let lastWork = Date.now(); Date.now() - lastWork < IDLE_TIMEOUT; await Bun.sleep(PAUSE)) {
    const { log, left } = copy()
    if (left > 0) lastWork = Date.now()
    if (!isEmptied && left <= FEW_LEFT) isEmptied = pass('TRUNCATE', RESTART_WAIT).busy === 0
    // Again at once, until so few pages are left that nobody notices the end of it.
    if (log >= LONG_LOG && copy().left <= FEW_LEFT) pass('RESTART', RESTART_WAIT)
  }

  /** Copies what is in the log. SQLite syncs only when all is copied: everything at once would take long. */
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
