import { parseArgs } from 'node:util'
import { buildExecutable } from '../support/executable.ts'
import { report } from './report.ts'
import { runSoak } from './run.ts'

/**
 * `bun run soak [--minutes 20] [--engine sqlite|postgres] [--rate 40]`: a mixed load with one fault
 * per minute, then a check of all acknowledged writes. Exits with 1 if anything is wrong.
 */
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '20' },
    engine: { type: 'string', default: 'sqlite' },
    rate: { type: 'string', default: '40' },
  },
})
const { engine } = values
const [minutes, rate] = [Number(values.minutes), Number(values.rate)]
if ((engine !== 'sqlite' && engine !== 'postgres') || !(minutes > 0) || !(rate > 0)) {
  console.error('Usage: bun run soak [--minutes 20] [--engine sqlite|postgres] [--rate 40]')
  process.exit(2)
}
const interruption = new AbortController()
process.once('SIGINT', () => interruption.abort())

await buildExecutable()
const outcome = await runSoak({
  engine,
  minutes,
  rate,
  users: 200,
  pause: 60_000,
  signal: interruption.signal,
  logProgress: (text) => console.log(text),
})
console.log(report(outcome))
if (!outcome.isClean) process.exitCode = 1
