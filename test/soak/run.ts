import { readdir } from 'node:fs/promises'
import { residentMemory } from '../bench/servers.ts'
import { createBilling } from './billing.ts'
import { createClient } from './client.ts'
import { type Fault, faultsOf } from './faults.ts'
import { createFiles } from './files.ts'
import { verifyAcknowledged } from './ledger.ts'
import { startLoad } from './load.ts'
import type { Sample } from './slopes.ts'
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
  tell: (text: string) => void
  /** Only these faults. */
  only?: string[]
}

/** `failures` counts refused and unanswered requests; `recovery` is the time of the last one after the fault's end, in ms. */
export type FaultSeen = { name: string; failures: number; recovery: number }

export type Outcome = Awaited<ReturnType<typeof runSoak>>

const SAMPLE_EVERY = 5_000
const MINUTE = 60_000
const ROUNDS = 4

/** Runs the load, one fault after the other, process samples, and the final verification. */
export async function runSoak(options: SoakOptions) {
  const { engine, minutes, rate, users: count, pause, signal, tell } = options
  await using world = await openWorld(engine)
  const client = createClient(world.url)
  const users = createUsers(client)
  const billing = createBilling(client, users)
  const files = await createFiles(client, users)
  const { faults, missing } = faultsOf(world, billing)
  for (const text of missing) tell(`skipped: ${text}`)
  const load = await startLoad({ client, users, billing, files }, { rate, users: count })
  const startedAt = performance.now()
  const sampling = startSampling(world, startedAt)
  const chosen = faults.filter(({ name }) => options.only?.includes(name) ?? true)
  const faultsSeen: FaultSeen[] = []
  for (const fault of inTurns(chosen)) {
    await Promise.race([Bun.sleep(pause / 2), aborted(signal)])
    const isOver = performance.now() - startedAt > minutes * MINUTE - pause / 2
    if (signal.aborted || isOver) break
    faultsSeen.push(await suffer(fault))
    await Promise.race([Bun.sleep(pause / 2), aborted(signal)])
    tell(await progress(faultsSeen.at(-1) as FaultSeen))
  }
  await load.stop()
  const elapsed = (performance.now() - startedAt) / MINUTE
  const samples = sampling.stop()
  tell('the load is over; verifying everything acknowledged')
  const account = await verifyAcknowledged(world, load.allUsers, { client, users, billing })
  const errors = await world.errorsLogged()
  const isClean =
    client.wrong.length === 0 &&
    Object.values(account).every(({ lost, twice }) => lost.length === 0 && twice === 0) &&
    [account.events, account.users, account.files].every(({ unknown }) => unknown.length === 0)
  const { seen, times } = load
  return {
    engine,
    minutes: elapsed,
    rate,
    missing,
    account,
    isClean,
    faultsSeen,
    samples,
    seen,
    times,
    errors,
    wrong: client.wrong,
    failures: client.seen.failures,
  }

  async function suffer(fault: Fault): Promise<FaultSeen> {
    const before = client.seen.failures
    if (fault.endsProcess) sampling.endLife()
    await fault.run().catch((error) => client.wrong.push(`${fault.name}: ${error.message}`))
    if (fault.endsProcess) sampling.startLife()
    const endedAt = performance.now()
    // Requests refused during the fault are retried within two seconds.
    await Bun.sleep(Math.min(pause / 6, 5_000))
    const recovery = Math.max(0, client.seen.lastFailureAt - endedAt)
    return { name: fault.name, failures: client.seen.failures - before, recovery }
  }

  async function progress({ name, failures, recovery }: FaultSeen): Promise<string> {
    const minute = ((performance.now() - startedAt) / MINUTE).toFixed(1)
    const { memory, descriptors } = await measure(world.pid())
    return [
      `minute ${minute}: ${name}`,
      `${failures} requests refused, the last ${Math.round(recovery)} ms after its end`,
      `${load.seen.done} actions done, ${load.seen.skipped} skipped`,
      `${Math.round(memory / 1e6)} MB, ${descriptors} descriptors`,
      `${client.wrong.length} wrong${client.wrong.length > 0 ? `: ${client.wrong.at(-1)}` : ''}`,
    ].join('; ')
  }
}

/** Faults that end the process come in one round of four, so that a process lives long enough to judge its memory. */
function* inTurns(faults: Fault[]): Generator<Fault> {
  const kept = faults.filter(({ endsProcess }) => !endsProcess)
  for (;;) {
    yield* faults
    for (let round = 1; round < ROUNDS; round++) yield* kept
    if (faults.length === 0) return
  }
}

function startSampling(world: World, startedAt: number) {
  const samples: Sample[] = []
  let life = 0
  let bornAt: number | null = startedAt
  const timer = setInterval(take, SAMPLE_EVERY)
  return {
    endLife: () => {
      bornAt = null
    },
    startLife: () => {
      life++
      bornAt = performance.now()
    },
    stop: () => {
      clearInterval(timer)
      return samples
    },
  }

  async function take() {
    if (bornAt === null) return
    const [now, of] = [performance.now(), life]
    const age = (now - bornAt) / MINUTE
    const measured = await measure(world.pid()).catch(() => null)
    if (measured && of === life)
      samples.push({ ...measured, life, age, minute: (now - startedAt) / MINUTE })
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
