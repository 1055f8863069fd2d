import { Database } from 'bun:sqlite'

/** An exclusive lock on an empty SQLite database, released however the process ends. Null if another process holds it. */
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
