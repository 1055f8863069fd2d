import { chmodSync, renameSync, rmSync } from 'node:fs'
import { CommandError } from '../../lib/command.ts'
import { isListening } from './command-socket.ts'

/** The proxy connects as another user of the same group. */
const MODE = 0o660

/**
 * Creates the socket at a temporary path and renames it, so no connection fails and the runtime does not delete it.
 */
export function listenForProxy<T>(path: string, listen: (path: string) => T): T {
  const ownPath = `${path}.${process.pid}`
  try {
    rmSync(ownPath, { force: true })
    const server = listen(ownPath)
    chmodSync(ownPath, MODE)
    renameSync(ownPath, path)
    return server
  } catch (error) {
    const { code } = error as { code?: string }
    const reason = `HOST unix:${path} cannot be used (${code}): the folder must exist, and this user must be able to write to it.`
    throw new CommandError(reason, { cause: error })
  }
}

/** Throws `CommandError` when another server answers at `path`. */
export async function requireUnusedSocket(path: string) {
  if (await isListening(path))
    throw new CommandError(`HOST unix:${path} is in use by another server: choose another path.`)
}
