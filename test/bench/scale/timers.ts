import { openData } from '../../../src/cli/data/open-data.ts'
import { readConfig } from '../../../src/config/config.ts'
import { createLog } from '../../../src/lib/log/log.ts'
import { printTable, ratio } from './report.ts'
import type { Side, Sides } from './sides.ts'

/** Unlike real data, the generated data has attachment rows without files. */
const EXCLUDED_JOBS = ['orphaned files']
const TICK_MS = 2

/** Runs the scheduled jobs, and prints how long each takes and blocks the event loop. */
export async function benchJobs({ large, empty }: Sides) {
  const emptyResults = await runJobs(empty)
  const rows = [...(await runJobs(large))].map(([name, { ms, blocked }]) => {
    const other = emptyResults.get(name) ?? { ms: 0, blocked: 0 }
    return [
      name,
      ms.toFixed(1),
      other.ms.toFixed(1),
      ratio(ms, other.ms),
      blocked.toFixed(1),
      other.blocked.toFixed(1),
    ]
  })
  printTable(
    'Scheduled jobs, in ms',
    ['', 'large', 'empty', 'ratio', 'event loop blocked, large', 'empty'],
    rows,
  )
}

async function runJobs({ dataDir }: Side) {
  const config = readConfig({}, { DATA_DIR: dataDir, RATES_PROVIDER: 'off' })
  await using data = await openData(config, createLog('error'))
  const results = new Map<string, { ms: number; blocked: number }>()
  for (const { name, run } of data.services.jobs) {
    if (EXCLUDED_JOBS.includes(name)) continue
    let blocked = 0
    let lastTickAt = performance.now()
    const ticks = setInterval(() => {
      blocked = Math.max(blocked, performance.now() - lastTickAt - TICK_MS)
      lastTickAt = performance.now()
    }, TICK_MS)
    const start = performance.now()
    await run(new AbortController().signal)
    const ms = performance.now() - start
    await Bun.sleep(2 * TICK_MS)
    clearInterval(ticks)
    results.set(name, { ms, blocked })
  }
  return results
}
