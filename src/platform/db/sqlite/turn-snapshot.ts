import type { Database } from 'bun:sqlite'

/**
 * One snapshot for all reads in a turn of the event loop: locking takes longer than a read. Call `close` after a
 * commit; other processes' changes are seen in the next turn.
 */
export function createTurnSnapshot(reader: Database) {
  const begin = reader.query('BEGIN')
  const end = reader.query('COMMIT')
  let isOpen = false
  return { open, close }

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
