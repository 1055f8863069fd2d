import { copyOpenDatabase, isIntact } from '../db/sqlite/open.ts'
import { EXIT } from './command.ts'

/** The hidden command that copies a database which others write to, and checks the copy: both hold up the loop. */
export function runCopyDatabase([from = '', to = '']: string[]): never {
  copyOpenDatabase(from, to)
  if (isIntact(to)) process.exit(EXIT.done)
  process.stderr.write(`${from} is damaged: restore it from the last good backup.\n`)
  process.exit(EXIT.failed)
}
