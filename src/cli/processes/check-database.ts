import { constants, setPriority } from 'node:os'
import { EXIT } from '../../lib/command.ts'
import { isIntact } from '../../platform/db/sqlite/open.ts'
import { programCommand } from './program-command.ts'

/** Tells damage from a check that could not be made. */
const DAMAGED = 3

/**
 * The hidden command that reads the whole database and exits 3 when it is damaged. Requests go before it, with the
 * processor and mostly with the disk as well.
 */
export function runCheckDatabase([path = '']: string[]): never {
  setPriority(constants.priority.PRIORITY_LOW)
  process.exit(isIntact(path) ? EXIT.done : DAMAGED)
}

/**
 * Checks the database in a process of its own, for it takes a second a gigabyte, and a minute where that has to come
 * from the disk. Resolves only when it is damaged; `signal` ends the check.
 */
export async function waitForDamage(path: string, signal: AbortSignal): Promise<'damage'> {
  const stdio = ['ignore', 'ignore', 'ignore'] as const
  const check = Bun.spawn(programCommand('check-database', path), { stdio: [...stdio], signal })
  const exitCode = await check.exited
  if (exitCode === DAMAGED) return 'damage'
  return new Promise(() => {})
}
