import { mkdtemp, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildExecutable } from '../../support/executable.ts'
import { makePhoto } from '../photo.ts'
import type { Contender } from './contender.ts'
import { printCpuTimes } from './cpu-times.ts'
import { type Criterion, tryRates } from './find-rates.ts'
import { startGenerator } from './generator.ts'
import { startHomeportContender } from './homeport.ts'
import type { ServerUnderLoad } from './measure.ts'
import { startNodeStack } from './node-stack.ts'
import { startPocketBaseContender } from './pocketbase.ts'
import { printRates } from './report.ts'

/**
 * A mixed load: finds the highest rate at which 99% of requests are
 * answered within 100 ms, for Homeport and its rivals on the same machine.
 */
const { values: flags } = parseArgs({
  options: {
    /** Duration of one step. */
    seconds: { type: 'string' },
    /** The first rate, in requests per second. */
    from: { type: 'string', default: '64' },
    /** Limit of the 99th percentile, in ms. */
    limit: { type: 'string', default: '100' },
    /** Steps of 4 seconds, one round and fewer users: rough results in minutes. */
    quick: { type: 'boolean', default: false },
  },
})
const SECONDS = Number(flags.seconds ?? (flags.quick ? 4 : 15))
const WARM_UP = SECONDS / 5
const ROUNDS = flags.quick ? 1 : 3
const LIMIT = Number(flags.limit)
const SIZE = flags.quick ? { users: 100, pictures: 10 } : { users: 500, pictures: 50 }

/**
 * Resized as an app does before an upload: 250 KB. Converting a larger image would take most of
 * the 100 ms.
 */
const PHOTO = { width: 800, height: 600 }

const CRITERIA: Criterion[] = [
  { name: 'every request', select: (result) => result.all },
  { name: 'all but sign-ins and pictures', select: (result) => result.light },
]

const folder = await mkdtemp(join(tmpdir(), 'homeport-mixed-'))
const started: Contender[] = []
const running: ServerUnderLoad[] = []
const startedAt = performance.now()
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => void stopAll().finally(() => process.exit(1)))
}
try {
  await buildExecutable()
  await startAll()
  console.log(
    `\n${cpus().length} cores; steps of ${SECONDS} s, the first ${WARM_UP} s not counted; open loop, Poisson arrivals, latency from when a request was due; at most 0.1 % failures`,
  )
  const options = {
    limit: LIMIT,
    lowest: Number(flags.from),
    seconds: SECONDS,
    warmUp: WARM_UP,
    rounds: ROUNDS,
  }
  printRates(await tryRates(running, CRITERIA, options), CRITERIA, LIMIT)
  await printCpuTimes(running)
  await checkAll()
  console.log(`${Math.round((performance.now() - startedAt) / 1000)} s in total`)
} finally {
  await stopAll()
}

async function startAll() {
  const photo = join(folder, 'photo.jpg')
  await makePhoto(photo, PHOTO.width, PHOTO.height)
  console.log(`Starting the servers with ${SIZE.users} users each`)
  const homeport = await startHomeportContender(folder, SIZE, photo)
  await add(homeport)
  await add(await startPocketBaseContender(folder, SIZE, photo, homeport.port))
  await add(await startNodeStack(folder, SIZE, photo, homeport.port))
}

async function add(contender: Contender | null) {
  if (contender === null) return
  console.log(`${contender.name}: ${contender.about}`)
  started.push(contender)
  const world = await contender.prepare()
  running.push({ contender, generator: startGenerator(contender.apiName, world) })
}

async function stopAll() {
  for (const { generator } of running) await generator.stop()
  for (const contender of started) await contender.stop()
  await rm(folder, { recursive: true, force: true })
}

/** Verifies acknowledged data: through the running servers, and by row counts once they have stopped. */
async function checkAll() {
  for (const { contender, generator } of running) {
    const { faults, events, uploads, sent } = await generator.check()
    await contender.stop()
    const stored = contender.countStored()
    const before = { events: SIZE.users, uploads: SIZE.pictures }
    const minEvents = before.events + events
    const maxEvents = before.events + sent
    if (stored.events < minEvents || stored.events > maxEvents) {
      faults.push(`${stored.events} events are stored, expected ${minEvents} to ${maxEvents}`)
    }
    if (stored.uploads < before.uploads + uploads) {
      faults.push(
        `${stored.uploads} pictures are stored, expected ${before.uploads + uploads} or more`,
      )
    }
    const summary = `${events} renewals and ${uploads} uploads were acknowledged`
    console.log(
      `${contender.name}: ${summary}; ${faults.length === 0 ? 'nothing is missing' : 'FAULTS'}`,
    )
    for (const fault of faults) console.log(`  ${fault}`)
    if (faults.length > 0) process.exitCode = 1
  }
}
