import { residentMemory } from '../servers.ts'
import { benchCommands } from './commands.ts'
import { endpointCases } from './endpoints.ts'
import { measureAll } from './latencies.ts'
import { comparisonRow, printLatencies, printTable } from './report.ts'
import {
  cachedShare,
  dropFromCache,
  readIntoCache,
  renewSessions,
  type Sides,
  startSide,
} from './sides.ts'

/**
 * Prints the latency of requests from apps and the billing provider, one at a time: first with an
 * empty page cache, then with a full one.
 */
export async function benchRequests(sides: Sides, logProgress: (text: string) => void) {
  const { large, empty } = sides
  renewSessions(large)
  await readIntoCache(large)
  await using largeServer = await startSide(large)
  await using emptyServer = await startSide(empty)
  const cases = { large: await endpointCases(large), empty: await endpointCases(empty) }
  const scattered = {
    large: cases.large.filter((testCase) => testCase.isScattered),
    empty: cases.empty.filter((testCase) => testCase.isScattered),
  }
  await dropFromCache(large)
  logProgress(`page cache: ${await cachedShare(large)} of the file`)
  printLatencies('Cold page cache', await measureAll(sides, scattered, logProgress, false))
  await readIntoCache(large)
  logProgress(`page cache: ${await cachedShare(large)} of the file`)
  printLatencies('Endpoints', await measureAll(sides, cases, logProgress))
  const servers = [largeServer, emptyServer]
  const memory = await Promise.all(servers.map(({ pid }) => residentMemory(pid)))
  await benchCommands(sides)
  printTable(
    'Servers',
    ['', 'large', 'empty', 'ratio'],
    [
      comparisonRow(
        'database check finished after start, in s',
        servers.map(({ checkedAfter }) => checkedAfter / 1000),
      ),
      comparisonRow(
        'memory after the requests, in MB',
        memory.map((bytes) => bytes / 1e6),
      ),
    ],
  )
}
