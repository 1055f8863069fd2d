import { constants, setPriority } from 'node:os'
import { EXIT } from '../../lib/command.ts'
import { isIntact } from '../../platform/db/sqlite/open.ts'
import { programCommand } from './program-command.ts'

/** Distinguishes damage from a failed check. */
const DAMAGED = 3

/**
 * The hidden command that reads the whole database and exits 3 when it is damaged. It runs at low priority, because
 * requests come first.
 */
export function runCheckDatabase([path = '']: string[]): never {
  setPriority(constants.priority.PRIORITY_LOW)
  process.exit(isIntact(path) ? EXIT.done : DAMAGED)
}

/**
 * Checks the database in a child process: it takes a second per gigabyte, or a minute if read from the disk. Resolves
 * only when the database is damaged; `signal` ends the check.
 */
export async function waitForDamage(path: string, signal: AbortSignal): Promise<'damage'> {
  const stdio = ['ignore', 'ignore', 'ignore'] as const
  const check = Bun.spawn(programCommand('check-database', path), { stdio: [...stdio], signal })
  const exitCode = await check.exited
  if (exitCode === DAMAGED) return 'damage'
  return new Promise(() => {})
}
