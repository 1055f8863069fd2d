import { EXIT } from '../../lib/command.ts'
import {
  copyLogUntilIdle,
  isSyncError,
} from '../../platform/db/sqlite/background/checkpoint-worker.ts'
import { SYNC_FAILED } from '../../platform/db/sqlite/background/checkpoints.ts'
import { classifyOpenError } from '../../platform/db/sqlite/storage-error.ts'

/** The hidden command that checkpoints the database at `path` while the server writes. */
export async function runCheckpoint([path = '']: string[]): Promise<never> {
  // The server holds the other end of the pipe, which closes when it stops.
  process.stdin.on('end', () => process.exit(EXIT.done)).resume()
  try {
    await copyLogUntilIdle(path)
    process.exit(EXIT.done)
  } catch (error) {
    if (isSyncError(error)) {
      console.error(error)
      process.exit(SYNC_FAILED)
    }
    // The server detects and reports a full disk itself, and restarts this process.
    if (classifyOpenError(error)?.kind === 'full') process.exit(EXIT.failed)
    throw error
  }
}
