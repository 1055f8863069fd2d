import type { Database } from 'bun:sqlite'

/**
 * One view of the database for all reads of one turn of the event loop: locking and unlocking it for each read takes
 * longer than the read. What we commit is seen at once if `close` is called then, changes of others with the next turn.
 */
export function createTurnSnapshot(reader: Database) {
  const begin = reader.query('BEGIN')
  const end = reader.query('COMMIT')
  let isOpen = false
  return { open, close }

  /** To be called before each read. */
  function open() {
    if (isOpen) return
    isOpen = true
    begin.run()
    setImmediate(close)
  }

  function close() {
    if (!isOpen) return
    isOpen = false
    // A failed read may have ended it.
    if (reader.inTransaction) end.run()
  }
}
