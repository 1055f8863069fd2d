import { openData } from '../../../src/cli/open-data.ts'
import { readConfig } from '../../../src/config.ts'
import { createLog } from '../../../src/lib/log.ts'
import { printTable, ratio } from './report.ts'
import type { Side, Sides } from './sides.ts'

/** The data has rows without files, which real data does not. */
const LEFT_OUT = ['orphaned files']
const TICK = 2

/** Runs the scheduled jobs, and prints how long each takes and blocks the event loop. */
export async function benchTimers({ large, empty }: Sides) {
  const ofEmpty = await runTimers(empty)
  const rows = [...(await runTimers(large))].map(([name, { ms, held }]) => {
    const other = ofEmpty.get(name) ?? { ms: 0, held: 0 }
    return [
      name,
      ms.toFixed(1),
      other.ms.toFixed(1),
      ratio(ms, other.ms),
      held.toFixed(1),
      other.held.toFixed(1),
    ]
  })
  printTable(
    'Scheduled jobs, in ms',
    ['', 'large', 'empty', 'ratio', 'event loop blocked, large', 'empty'],
    rows,
  )
}

async function runTimers({ dataDir }: Side) {
  const config = readConfig({}, { DATA_DIR: dataDir, RATES_PROVIDER: 'off' })
  await using data = await openData(config, createLog('error'))
  const found = new Map<string, { ms: number; held: number }>()
  for (const { name, run } of data.services.jobs) {
    if (LEFT_OUT.includes(name)) continue
    let held = 0
    let ticked = performance.now()
    const ticks = setInterval(() => {
      held = Math.max(held, performance.now() - ticked - TICK)
      ticked = performance.now()
    }, TICK)
    const start = performance.now()
    await run(new AbortController().signal)
    const ms = performance.now() - start
    await Bun.sleep(2 * TICK)
    clearInterval(ticks)
    found.set(name, { ms, held })
  }
  return found
}
