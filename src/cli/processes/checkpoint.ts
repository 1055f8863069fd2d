import { EXIT } from '../../lib/command.ts'
import { copyLogUntilIdle } from '../../platform/db/sqlite/checkpoint-worker.ts'
import { openingFault } from '../../platform/db/sqlite/storage-error.ts'

/** The hidden command that copies the log of the database at `path` into it while the server writes. */
export async function runCheckpoint([path = '']: string[]): Promise<never> {
  // The server holds the other end, which closes with it.
  process.stdin.on('end', () => process.exit(EXIT.done)).resume()
  try {
    await copyLogUntilIdle(path)
    process.exit(EXIT.done)
  } catch (error) {
    // The server finds it out by itself, tells of it, and starts this again.
    if (openingFault(error)?.kind === 'full') process.exit(EXIT.failed)
    throw error
  }
}
