import { openData } from '../../../src/cli/data/open-data.ts'
import { readConfig } from '../../../src/config/config.ts'
import type { Rebuild } from '../../../src/features/billing/projection/rebuild.ts'
import { createLog } from '../../../src/lib/log/log.ts'
import { printTable, rateComparisonRow } from './report.ts'
import type { Side, Sides } from './sides.ts'

/** Each part of the large rebuild is stopped after this many ms. */
const PART_LIMIT_MS = 40_000
/** Minimum total duration of the measured rebuilds. */
const MIN_SECONDS = 3

/** Prints the speed of a rebuild: linking customers event by event, then rebuilding each purchase. */
export async function benchRebuild({ large, empty }: Sides) {
  const [inLarge, inEmpty] = [await measureRates(large), await measureRates(empty)]
  printTable(
    'events rebuild',
    ['', 'large', 'empty', 'large ÷ empty'],
    [
      rateComparisonRow('events linked per second', [inLarge.linked, inEmpty.linked]),
      rateComparisonRow('purchases rebuilt per second', [inLarge.rebuilt, inEmpty.rebuilt]),
      rateComparisonRow('events per second, overall', [inLarge.events, inEmpty.events]),
    ],
  )
}

/** The rate of each part of a rebuild, within its time limit. */
async function measureRates({ dataDir, size }: Side) {
  const config = readConfig({}, { DATA_DIR: dataDir, RATES_PROVIDER: 'off' })
  await using data = await openData(config, createLog('error'))
  const { rebuildBilling } = data.services
  const secondPart = await rebuildRepeatedly(() => rebuildBilling(skipFirstPart()))
  const rebuilt = secondPart.lines / secondPart.seconds
  const both = await rebuildRepeatedly(() => rebuildBilling(AbortSignal.timeout(PART_LIMIT_MS)))
  const linked = both.events / (both.seconds - both.lines / rebuilt)
  return {
    linked,
    rebuilt,
    events: size.events / (size.events / linked + size.purchases / rebuilt),
  }
}

/** Rebuilds small data repeatedly, until the total time is long enough to measure. */
async function rebuildRepeatedly(rebuild: () => ReturnType<Rebuild>) {
  const total = { events: 0, lines: 0, seconds: 0 }
  while (total.seconds < MIN_SECONDS) {
    const { events, lines, seconds } = await rebuild()
    total.events += events
    total.lines += lines
    total.seconds += seconds
  }
  return total
}

/** A rebuild checks its signal before each batch, and continues with the second part when the first is stopped. */
function skipFirstPart(): AbortSignal {
  const end = performance.now() + PART_LIMIT_MS
  let checks = 0
  const signal = {
    get aborted() {
      return ++checks === 1 || performance.now() > end
    },
  }
  return signal as AbortSignal
}
