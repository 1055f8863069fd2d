import { Database } from 'bun:sqlite'
import { fdatasyncSync, openSync } from 'node:fs'
import { sqliteCode } from '../storage-error.ts'

type CheckpointResult = { busy: number; log: number; checkpointed: number }

const PAUSE_MS = 200
/** A log this long is restarted as soon as MAX_PAGES_LEFT pages or fewer remain to be copied. */
const LONG_LOG_PAGES = 24_000
const MAX_PAGES_LEFT = 64
/** How long the writing process may wait for the last pages. */
const RESTART_WAIT_MS = 10
/** The worker exits after this time without anything to copy. */
const IDLE_TIMEOUT_MS = 5_000

class SyncError extends Error {
  override readonly name = 'SyncError'
}

/** Whether copied pages may be lost: the system has dropped them, and a second sync would not write them. */
export function isSyncError(error: unknown): boolean {
  return error instanceof SyncError || sqliteCode(error) === 'SQLITE_IOERR_FSYNC'
}

/**
 * While another process writes to the database, copies its log until that process is idle. Empties the log once, because
 * it still contains deleted data.
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
    if (!isEmptied && left <= MAX_PAGES_LEFT)
      isEmptied = checkpoint('TRUNCATE', RESTART_WAIT_MS).busy === 0
    // Copies again immediately, so that the restart has few pages left to wait for.
    if (log >= LONG_LOG_PAGES && copy().left <= MAX_PAGES_LEFT)
      checkpoint('RESTART', RESTART_WAIT_MS)
  }

  /** SQLite syncs only after copying everything, and one large sync would take too long. */
  function copy(): { log: number; left: number } {
    const { log, checkpointed } = checkpoint('PASSIVE', 0)
    if (checkpointed < log) sync()
    return { log, left: log - checkpointed }
  }

  function sync() {
    try {
      fdatasyncSync(file)
    } catch (cause) {
      throw new SyncError('the database cannot be synced', { cause })
    }
  }

  function checkpoint(mode: 'PASSIVE' | 'RESTART' | 'TRUNCATE', wait: number): CheckpointResult {
    client.run(`PRAGMA busy_timeout = ${wait}`)
    return client.query(`PRAGMA wal_checkpoint(${mode})`).get() as CheckpointResult
  }
}
