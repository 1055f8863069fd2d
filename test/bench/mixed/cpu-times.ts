import { measureStep, type Running } from './measure.ts'
import { KINDS } from './mix.ts'
import { SLOW_KINDS } from './open-loop.ts'
import { toColumn } from './report.ts'

const SECONDS = 3
/** Requests per second, far below a server's limit. */
const RATE = 200
/** The rate for kinds that take tens of ms. */
const SLOW_RATE = 5

/** Prints the CPU time of one request of each kind, all threads and processes of the server together. */
export async function printCpuTimes(servers: Running[]) {
  const names = servers.map(({ contender }) => contender.name)
  console.log('CPU time per request, in ms')
  console.log(`  ${'kind'.padEnd(14)}${names.map(toColumn).join('')}`)
  for (const only of KINDS) {
    const times: string[] = []
    const rate = SLOW_KINDS.includes(only) ? SLOW_RATE : RATE
    for (const one of servers) {
      const step = { rate, seconds: SECONDS, warmUp: 0, seed: 1, only }
      const { cores, result, elapsed } = await measureStep(one, step)
      times.push(((cores.server * elapsed) / result.all.count).toFixed(2))
    }
    console.log(`  ${only.padEnd(14)}${times.map(toColumn).join('')}`)
  }
  console.log()
}
