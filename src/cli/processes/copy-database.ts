import { dirname } from 'node:path'
import { EXIT } from '../../lib/command.ts'
import { describeFullDisk } from '../../lib/files/free-space.ts'
import { copyOpenDatabase, isIntact } from '../../platform/db/sqlite/open.ts'
import { classifyOpenError } from '../../platform/db/sqlite/storage-error.ts'

/** The hidden command that copies a database in use and checks the copy. Both would block the event loop. */
export async function runCopyDatabase([from = '', to = '']: string[]): Promise<never> {
  try {
    copyOpenDatabase(from, to)
  } catch (error) {
    const problem = classifyOpenError(error)
    if (problem === null) throw error
    const why =
      problem.kind === 'full' ? await explainFullDisk(dirname(to)) : 'check its disk and its owner'
    process.stderr.write(
      `The database cannot be copied to ${dirname(to)} (${problem.code}): ${why}.\n`,
    )
    process.exit(EXIT.failed)
  }
  if (isIntact(to)) process.exit(EXIT.done)
  process.stderr.write(`${from} is damaged: restore it from the last good backup.\n`)
  process.exit(EXIT.failed)
}

async function explainFullDisk(folder: string): Promise<string> {
  const { state, advice } = await describeFullDisk(folder)
  return `its disk ${state}, ${advice}`
}
