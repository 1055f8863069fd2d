import { Database } from 'bun:sqlite'

/**
 * Locks the file at `path` for the life of this process; returns null when another process holds it. It is an
 * exclusive lock on an empty SQLite database, which the system releases however the process ends.
 */
export function takeLock(path: string): Disposable | null {
  const lock = new Database(path, { create: true })
  try {
    lock.run('PRAGMA busy_timeout = 0')
    lock.run('PRAGMA journal_mode = MEMORY')
    lock.run('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return null
    throw error
  }
  return { [Symbol.dispose]: () => lock.close() }
}
