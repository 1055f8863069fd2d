import { chmodSync, renameSync, rmSync } from 'node:fs'
import { CommandError } from '../../lib/command.ts'

/** The proxy connects as another user of the same group. */
const MODE = 0o660

/**
 * Listens for the proxy at `path`. The socket is made at a path of its own and then moved, so that it replaces that of an
 * earlier process without a gap, and the runtime, which removes the path when it stops, does not remove its successor's.
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
  const connection = await Bun.connect({ unix: path, socket: { data() {} } }).catch(() => null)
  connection?.end()
  if (connection)
    throw new CommandError(`HOST unix:${path} is in use by another server: choose another path.`)
}
