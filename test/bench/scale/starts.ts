import { median } from '../median.ts'
import { residentMemory, startHomeport } from '../servers.ts'
import { comparisonRow, printTable } from './report.ts'
import type { Side, Sides } from './sides.ts'

const STARTS = 5
/** After this many ms, a server has finished its background work. */
const SETTLE_MS = 3_000

type Start = { ready: number; memory: number }

/** Starts both servers in turn and prints the time until ready, and the memory 3 s later. */
export async function benchStarts({ large, empty }: Sides) {
  const starts = { large: [] as Start[], empty: [] as Start[] }
  for (let round = 0; round < STARTS; round++) {
    starts.large.push(await startOnce(large))
    starts.empty.push(await startOnce(empty))
  }
  const timesOf = (name: keyof Start) =>
    [starts.large, starts.empty].map((all) => median(all.map((start) => start[name])))
  printTable(
    'Start',
    ['', 'large', 'empty', 'ratio'],
    [
      comparisonRow('ready, in ms', timesOf('ready')),
      comparisonRow('memory 3 s after start, in MB', timesOf('memory')),
    ],
  )
}

async function startOnce({ dataDir, port }: Side): Promise<Start> {
  const server = await startHomeport(dataDir, port)
  await Bun.sleep(SETTLE_MS)
  const memory = (await residentMemory(server.pid)) / 1e6
  await server.stop()
  return { ready: server.readyAfter, memory }
}
