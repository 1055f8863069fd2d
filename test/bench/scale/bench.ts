import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { buildExecutable } from '../../support/executable.ts'
import { benchBeside } from './beside.ts'
import { benchBackup } from './commands.ts'
import { benchConsole } from './console.ts'
import { makeLargeData, sizeOf } from './large-data.ts'
import { benchMigrations } from './migration.ts'
import { benchRebuild } from './rebuild.ts'
import { describeMachine } from './report.ts'
import { benchRequests } from './requests.ts'
import type { Sides } from './sides.ts'
import { benchStarts } from './starts.ts'
import { benchStorage } from './storage.ts'
import { benchJobs } from './timers.ts'

/**
 * `bun run bench:scale [share] [folder] [parts]`: compares a database with that share of a million
 * users and ten million events with an almost empty one. The data is created once and kept in
 * `folder`, or in the user's cache. `parts` limits the run to some benchmarks: `start,backup`.
 */
const share = Number(process.argv[2] ?? 1)
const folder = resolve(process.argv[3] ?? join(homedir(), '.cache', 'homeport', `scale-${share}`))
const only = process.argv[4]?.split(',')
/** 100 users, 1,000 events. */
const EMPTY = 0.0001

const logProgress = (text: string) =>
  console.error(`${new Date().toISOString().slice(11, 19)} ${text}`)
await mkdir(dirname(folder), { recursive: true })
// On the same disk, so that syncs take the same time on both sides.
const scratch = await mkdtemp(join(dirname(folder), 'scale-empty-'))
const sides: Sides = {
  large: { dataDir: folder, size: sizeOf(share), port: 4821 },
  empty: { dataDir: join(scratch, 'empty'), size: sizeOf(EMPTY), port: 4822 },
}
const parts: [name: string, bench: () => unknown][] = [
  ['start', () => benchStarts(sides)],
  ['requests', () => benchRequests(sides, logProgress)],
  ['console', () => benchConsole(sides, logProgress)],
  ['beside', () => benchBeside(sides, logProgress)],
  ['timers', () => benchJobs(sides)],
  ['rebuild', () => benchRebuild(sides)],
  ['migration', () => benchMigrations(sides)],
  ['backup', () => benchBackup(sides)],
  ['bytes', () => benchStorage(sides.large)],
]
try {
  await makeData()
  await buildExecutable()
  console.log(`${describeMachine()}; large: ${share} of full size; empty: ${EMPTY}`)
  for (const [name, bench] of parts) {
    if (only && !only.includes(name)) continue
    logProgress(name)
    await bench()
  }
} finally {
  await rm(scratch, { recursive: true })
}

async function makeData() {
  await makeLargeData(sides.empty.dataDir, sides.empty.size, () => {})
  if (existsSync(folder)) return
  const partial = `${folder}.partial`
  await rm(partial, { recursive: true, force: true })
  await makeLargeData(partial, sides.large.size, logProgress)
  await rename(partial, folder)
}
