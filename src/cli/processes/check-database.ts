import { constants, setPriority } from 'node:os'
import { EXIT } from '../../lib/command.ts'
import { isIntact } from '../../platform/db/sqlite/open.ts'
import { programCommand } from './program-command.ts'

/** The exit code for a damaged database; any other failure means that the check itself failed. */
const DAMAGED = 3

/** The hidden command that reads the whole database. Low priority, because requests come first. */
export function runCheckDatabase([path = '']: string[]): never {
  setPriority(constants.priority.PRIORITY_LOW)
  process.exit(isIntact(path) ? EXIT.done : DAMAGED)
}

/**
 * Checks the database in a child process. That takes a second per gigabyte from the cache, or a minute from the disk.
 * Resolves only if the database is damaged.
 */
export async function waitForDamage(path: string, signal: AbortSignal): Promise<'damage'> {
  const command = programCommand('check-database', path)
  const exitCode = await Promise.try(() => {
    return Bun.spawn(command, { stdio: ['ignore', 'ignore', 'ignore'], signal }).exited
    // Spawning fails if the executable has been replaced with something that cannot run.
  }).catch(() => null)
  if (exitCode === DAMAGED) return 'damage'
  return new Promise(() => {})
}
