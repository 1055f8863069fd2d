import { openData } from '../../../src/cli/data-directory.ts'
import { readConfig } from '../../../src/config.ts'
import type { Rebuild } from '../../../src/features/billing/projection/rebuild.ts'
import { createLog } from '../../../src/lib/log.ts'
import { comparedRates, printTable } from './report.ts'
import type { Side, Sides } from './sides.ts'

/** Each part of a rebuild of the large data is ended after so many ms. */
const LIMIT = 40_000
/** In seconds. */
const SHORTEST = 3

/** Prints how fast the log is folded again: who is who, event by event, then line by line. */
export async function benchRebuild({ large, empty }: Sides) {
  const [ours, theirs] = [await ratesOf(large), await ratesOf(empty)]
  printTable(
    'events rebuild',
    ['', 'large, a second', 'empty', 'large ÷ empty'],
    [
      comparedRates('events linked', [ours.linked, theirs.linked]),
      comparedRates('lines folded', [ours.folded, theirs.folded]),
      comparedRates('events, of all of it', [ours.events, theirs.events]),
    ],
  )
}

/** By the parts of a rebuild, as far as each comes. */
async function ratesOf({ dataDir, size }: Side) {
  const config = readConfig({}, { DATA_DIR: dataDir, RATES_PROVIDER: 'off' })
  await using data = await openData(config, createLog('error'))
  const { rebuildBilling } = data.services
  const second = await repeated(() => rebuildBilling(withoutFirstPart()))
  const folded = second.lines / second.seconds
  const both = await repeated(() => rebuildBilling(AbortSignal.timeout(LIMIT)))
  const linked = both.events / (both.seconds - both.lines / folded)
  return { linked, folded, events: size.events / (size.events / linked + size.lines / folded) }
}

/** Little data is rebuilt again and again. */
async function repeated(rebuild: () => ReturnType<Rebuild>) {
  const total = { events: 0, lines: 0, seconds: 0 }
  while (total.seconds < SHORTEST) {
    const { events, lines, seconds } = await rebuild()
    total.events += events
    total.lines += lines
    total.seconds += seconds
  }
  return total
}

/** A rebuild looks at its signal before each batch, and goes on to its second part when the first is ended. */
function withoutFirstPart(): AbortSignal {
  const end = performance.now() + LIMIT
  let looked = 0
  const signal = {
    get aborted() {
      return ++looked === 1 || performance.now() > end
    },
  }
  return signal as AbortSignal
}
