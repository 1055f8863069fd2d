import { Database } from 'bun:sqlite'

/**
 * Takes the lock file at `path` for the life of this process, or returns null when another holds it.
 * It is SQLite's own exclusive lock on an empty database, so the system frees it however we die.
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
