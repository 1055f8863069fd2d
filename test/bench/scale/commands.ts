import { mkdir, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { median } from '../median.ts'
import { runHomeport } from '../servers.ts'
import { emailOf } from './large-users.ts'
import { compared, comparedRates, printTable } from './report.ts'
import type { Side, Sides } from './sides.ts'

/** Operators' commands, which run in the server. */
const COMMANDS = [
  ['status'],
  ['user', 'list'],
  ['user', 'show', emailOf(0)],
  ['events', 'list'],
  ['events', 'list', '--failed'],
  ['plans', 'unmatched'],
]
const RUNS = 3

/** Prints how long commands take while the servers run, including their own start. */
export async function benchCommands({ large, empty }: Sides) {
  const rows: string[][] = []
  for (const args of COMMANDS) {
    const times = { large: [] as number[], empty: [] as number[] }
    for (let run = 0; run < RUNS; run++) {
      times.large.push(await timed(large.dataDir, args))
      times.empty.push(await timed(empty.dataDir, args))
    }
    rows.push(compared(args.join(' '), [median(times.large), median(times.empty)]))
  }
  printTable('Commands, in ms', ['', 'large', 'empty', 'ratio'], rows)
}

/**
 * Prints the speed of backup and restore in MB/s, and their memory. Both stay beside the
 * data until the end; without enough space, it says so.
 */
export async function benchBackup({ large, empty }: Sides) {
  const needed = 2 * Bun.file(join(large.dataDir, 'homeport.db')).size * 1.1
  const { bavail, bsize } = await statfs(large.dataDir)
  if (bavail * bsize < needed) {
    console.log(
      `\nNo backup: ${giga(needed)} GB of free space are needed, there are ${giga(bavail * bsize)}.`,
    )
    return
  }
  const [ours, theirs] = [await backUp(large), await backUp(empty)]
  printTable(
    'Backup',
    ['', 'large', 'empty', 'large ÷ empty'],
    [
      comparedRates('written and checked, MB/s', [ours.written, theirs.written]),
      comparedRates('restored, MB/s', [ours.restored, theirs.restored]),
      compared('memory of writing, MB', [ours.writing, theirs.writing]),
      compared('memory of restoring, MB', [ours.restoring, theirs.restoring]),
    ],
  )
}

async function backUp({ dataDir }: Side) {
  // Not in a temporary directory, which may be in memory.
  const folder = join(dirname(dataDir), `scale-backup-${process.pid}`)
  const file = join(folder, 'backup.tar')
  await mkdir(folder)
  try {
    const start = performance.now()
    const backup = await runHomeport(dataDir, ['backup', '--out', file])
    const written = performance.now()
    const restore = await runHomeport(join(folder, 'restored'), [
      'restore',
      file,
      '--yes',
      '--trust',
    ])
    const restored = performance.now()
    const size = Bun.file(file).size / 1e6
    return {
      written: (size / (written - start)) * 1000,
      writing: backup.peak,
      restored: (size / (restored - written)) * 1000,
      restoring: restore.peak,
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function timed(dataDir: string, args: string[]): Promise<number> {
  const start = performance.now()
  await runHomeport(dataDir, args)
  return performance.now() - start
}

function giga(bytes: number): string {
  return (bytes / 1e9).toFixed(1)
}
