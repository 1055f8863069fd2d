import type { Database } from 'bun:sqlite'

/**
 * One snapshot for all reads in one turn of the event loop, because locking for each read would take longer than the
 * read. Call `close` after a commit, so that the next read sees it; other processes' changes are
 * seen in the next turn.
 */
export function createTurnSnapshot(reader: Database) {
  const begin = reader.query('BEGIN')
  const end = reader.query('COMMIT')
  let isOpen = false
  return { open, close }

  /** Call this before each read. */
  function open() {
    if (isOpen) return
    isOpen = true
    begin.run()
    setImmediate(close)
  }

  function close() {
    if (!isOpen) return
    isOpen = false
    // A failed read may have ended the transaction.
    if (reader.inTransaction) end.run()
  }
}
