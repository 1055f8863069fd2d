import { measureStep, type ServerUnderLoad } from './measure.ts'
import { KINDS } from './mix.ts'
import { SLOW_KINDS } from './open-loop.ts'
import { toColumn } from './report.ts'

const SECONDS = 3
/** A warm-up, so that the start of a worker or the compilation of code is not counted. */
const WARM_UP_SECONDS = 2
/** Requests per second, far below a server's limit. */
const RATE = 200
/** The rate for kinds that take tens of ms. */
const SLOW_RATE = 20

/** Prints the CPU time per request of each kind, summed over the server's threads and processes. */
export async function printCpuTimes(servers: ServerUnderLoad[]) {
  const names = servers.map(({ contender }) => contender.name)
  console.log('CPU time per request, in ms')
  console.log(`  ${'kind'.padEnd(14)}${names.map(toColumn).join('')}`)
  for (const kind of KINDS) {
    const times: string[] = []
    const rate = SLOW_KINDS.includes(kind) ? SLOW_RATE : RATE
    for (const server of servers) {
      const step = { rate, seconds: SECONDS, warmUp: 0, seed: 1, only: kind }
      await measureStep(server, { ...step, seconds: WARM_UP_SECONDS, seed: 2 })
      const { cores, result, elapsed } = await measureStep(server, step)
      times.push(((cores.server * elapsed) / result.all.count).toFixed(2))
    }
    console.log(`  ${kind.padEnd(14)}${times.map(toColumn).join('')}`)
  }
  console.log()
}
