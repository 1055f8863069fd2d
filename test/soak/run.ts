import { readdir } from 'node:fs/promises'
import { residentMemory } from '../bench/servers.ts'
import { startAppServer } from './app-server.ts'
import { createBilling } from './billing.ts'
import { createClient } from './client.ts'
import { startConsoleOperator } from './console-operator.ts'
import { type Fault, faultsOf } from './faults.ts'
import { createFiles } from './files.ts'
import { verifyAcknowledged } from './ledger.ts'
import { startLoad } from './load.ts'
import type { Sample } from './slopes.ts'
import { createStreams } from './streams.ts'
import { createUsers } from './users.ts'
import { type Engine, openWorld, type World } from './world.ts'

export type SoakOptions = {
  engine: Engine
  minutes: number
  /** Actions per second. */
  rate: number
  users: number
  /** Time between faults, in ms. */
  pause: number
  signal: AbortSignal
  logProgress: (text: string) => void
  /** Injects only these faults. */
  only?: string[]
}

/**
 * `failures` counts refused and unanswered requests; `recovery` is the time from the fault's end to
 * the last of them, in ms.
 */
export type FaultResult = { name: string; failures: number; recovery: number }

export type Outcome = Awaited<ReturnType<typeof runSoak>>

const SAMPLE_INTERVAL_MS = 5_000
const MINUTE = 60_000
const ROUNDS = 12

/** Runs the load, one fault after the other, process samples, and the final verification. */
export async function runSoak(options: SoakOptions) {
  const { engine, minutes, rate, users: count, pause, signal, logProgress } = options
  await using world = await openWorld(engine)
  const client = createClient(world.url)
  const users = createUsers(client)
  const billing = createBilling(client, users)
  const files = await createFiles(client, users)
  using appServer = await startAppServer(world, client, users)
  const streams = createStreams(client, users)
  const consoleOperator = await startConsoleOperator(world, client)
  const { faults, missing } = faultsOf(world, billing)
  for (const text of missing) logProgress(`skipped: ${text}`)
  const parts = { client, users, billing, files, appServer, streams, consoleOperator }
  const load = await startLoad(parts, { rate, users: count })
  const startedAt = performance.now()
  const sampling = startSampling(world, startedAt)
  const chosen = faults.filter(({ name }) => options.only?.includes(name) ?? true)
  const faultResults: FaultResult[] = []
  for (const fault of scheduleFaults(chosen)) {
    await Promise.race([Bun.sleep(pause / 2), aborted(signal)])
    const isOver = performance.now() - startedAt > minutes * MINUTE - pause / 2
    if (signal.aborted || isOver) break
    faultResults.push(await injectFault(fault))
    await Promise.race([Bun.sleep(pause / 2), aborted(signal)])
    logProgress(await progress(faultResults.at(-1) as FaultResult))
  }
  await load.stop()
  const elapsed = (performance.now() - startedAt) / MINUTE
  const samples = sampling.stop()
  await streams.closeAll()
  logProgress('the load is over; verifying all acknowledged writes')
  const comparisons = await verifyAcknowledged(world, load.allUsers, parts)
  const errors = await world.countLoggedErrors()
  const isClean =
    client.problems.length === 0 &&
    Object.values(comparisons).every(
      ({ lost, duplicates }) => lost.length === 0 && duplicates === 0,
    ) &&
    [comparisons.events, comparisons.users, comparisons.files, comparisons.webhooks].every(
      ({ unknown }) => unknown.length === 0,
    )
  const { stats, times } = load
  return {
    engine,
    minutes: elapsed,
    rate,
    missing,
    comparisons,
    isClean,
    faultResults,
    samples,
    stats,
    times,
    errors,
    problems: client.problems,
    failures: client.stats.failures,
  }

  async function injectFault(fault: Fault): Promise<FaultResult> {
    const before = client.stats.failures
    if (fault.endsProcess) sampling.pauseSampling()
    await fault.run().catch((error) => client.problems.push(`${fault.name}: ${error.message}`))
    if (fault.endsProcess) sampling.resumeSampling()
    const endedAt = performance.now()
    // Requests refused during the fault are retried within two seconds.
    await Bun.sleep(Math.min(pause / 6, 5_000))
    const recovery = Math.max(0, client.stats.lastFailureAt - endedAt)
    return { name: fault.name, failures: client.stats.failures - before, recovery }
  }

  async function progress({ name, failures, recovery }: FaultResult): Promise<string> {
    const minute = ((performance.now() - startedAt) / MINUTE).toFixed(1)
    const { memory, descriptors } = await measure(world.pid())
    const { problems } = client
    return [
      `minute ${minute}: ${name}`,
      `${failures} requests refused, the last ${Math.round(recovery)} ms after its end`,
      `${load.stats.done} actions done, ${load.stats.skipped} skipped`,
      `${Math.round(memory / 1e6)} MB, ${descriptors} descriptors`,
      `${problems.length} problems${problems.length > 0 ? `: ${problems.at(-1)}` : ''}`,
    ].join('; ')
  }
}

/**
 * Faults that end the process occur in only one round of twelve, so that a process lives for an hour and a half: long
 * enough to judge its memory.
 */
function* scheduleFaults(faults: Fault[]): Generator<Fault> {
  const nonFatal = faults.filter(({ endsProcess }) => !endsProcess)
  for (;;) {
    yield* faults
    for (let round = 1; round < ROUNDS; round++) yield* nonFatal
    if (faults.length === 0) return
  }
}

function startSampling(world: World, startedAt: number) {
  const samples: Sample[] = []
  let generation = 0
  let processStartedAt: number | null = startedAt
  const timer = setInterval(takeSample, SAMPLE_INTERVAL_MS)
  return {
    pauseSampling: () => {
      processStartedAt = null
    },
    resumeSampling: () => {
      generation++
      processStartedAt = performance.now()
    },
    stop: () => {
      clearInterval(timer)
      return samples
    },
  }

  async function takeSample() {
    if (processStartedAt === null) return
    const [now, measuredGeneration] = [performance.now(), generation]
    const age = (now - processStartedAt) / MINUTE
    const measured = await measure(world.pid()).catch(() => null)
    if (measured && measuredGeneration === generation)
      samples.push({ ...measured, generation, age, minute: (now - startedAt) / MINUTE })
  }
}

/** Resident memory in bytes and open descriptors of a process. */
async function measure(pid: number) {
  const memory = await residentMemory(pid)
  return { memory, descriptors: (await readdir(`/proc/${pid}/fd`)).length }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
