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
 * Checks in a child process: a second per gigabyte from the cache, a minute from the disk. Resolves only for damage.
 */
export async function waitForDamage(path: string, signal: AbortSignal): Promise<'damage'> {
  const command = programCommand('check-database', path)
  const exitCode = await Promise.try(() => {
    return Bun.spawn(command, { stdio: ['ignore', 'ignore', 'ignore'], signal }).exited
    // An executable that was replaced right after the start may not be a program.
  }).catch(() => null)
  if (exitCode === DAMAGED) return 'damage'
  return new Promise(() => {})
}
