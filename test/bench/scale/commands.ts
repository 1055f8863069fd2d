import { mkdir, rm, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { median } from '../median.ts'
import { runHomeport } from '../servers.ts'
import { emailOf } from './large-users.ts'
import { comparisonRow, printTable, rateComparisonRow } from './report.ts'
import type { Side, Sides } from './sides.ts'

/** Operator commands that the running server executes. */
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
    rows.push(comparisonRow(args.join(' '), [median(times.large), median(times.empty)]))
  }
  printTable('Commands, in ms', ['', 'large', 'empty', 'ratio'], rows)
}

/**
 * Prints the speed of backup and restore in MB/s, and their memory use. Their files stay next to
 * the data until the end. Skips the measurement if there is not enough space.
 */
export async function benchBackup({ large, empty }: Sides) {
  const needed = 2 * Bun.file(join(large.dataDir, 'homeport.db')).size * 1.1
  const { bavail, bsize } = await statfs(large.dataDir)
  if (bavail * bsize < needed) {
    console.log(
      `\nSkipping the backup: it needs ${toGigabytes(needed)} GB of free space, but only ${toGigabytes(bavail * bsize)} GB is left.`,
    )
    return
  }
  const [onLarge, onEmpty] = [await backUp(large), await backUp(empty)]
  printTable(
    'Backup',
    ['', 'large', 'empty', 'large ÷ empty'],
    [
      rateComparisonRow('written and checked, MB/s', [onLarge.written, onEmpty.written]),
      rateComparisonRow('restored, MB/s', [onLarge.restored, onEmpty.restored]),
      comparisonRow('backup memory, MB', [onLarge.backupMemory, onEmpty.backupMemory]),
      comparisonRow('restore memory, MB', [onLarge.restoreMemory, onEmpty.restoreMemory]),
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
      backupMemory: backup.peak,
      restored: (size / (restored - written)) * 1000,
      restoreMemory: restore.peak,
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

function toGigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(1)
}
