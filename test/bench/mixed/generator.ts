import type { Client, World } from './client.ts'
import { createConnectionPool } from './connection-pool.ts'
import { createHomeportClient } from './homeport-client.ts'
import { type Kind, scheduleArrivals } from './mix.ts'
import { runStep, type StepResult } from './open-loop.ts'
import { createPocketBaseClient } from './pocketbase-client.ts'

/** A step: requests per second for `seconds`, the first `warmUp` not counted, of one kind or of the mix. */
export type Step = { rate: number; seconds: number; warmUp: number; seed: number; only?: Kind }

/** The requests to a generator, and its replies. */
type Asked = { world: World; speaks: Interface } | { step: Step } | { check: true }
export type Checked = { faults: string[] } & ReturnType<Client['acknowledged']>
type Answer = { ready: true } | { result: StepResult } | { checked: Checked }

export type Interface = keyof typeof CLIENTS

const CLIENTS = { homeport: createHomeportClient, pocketbase: createPocketBaseClient }
const MAX_CONNECTIONS = 512
/** In ms. */
const PATIENCE = 5_000

export type Generator = ReturnType<typeof startGenerator>

/** Starts the process that loads one server and keeps its users' sessions from step to step. */
export function startGenerator(speaks: Interface, world: World) {
  const answers: ((answer: Answer) => void)[] = []
  const process = Bun.spawn([globalThis.process.execPath, import.meta.path], {
    stdio: ['ignore', 'inherit', 'inherit'],
    ipc: (answer: Answer) => answers.shift()?.(answer),
  })
  const ready = askProcess({ speaks, world })
  return { pid: process.pid, run, check, stop }

  async function run(step: Step): Promise<StepResult> {
    await ready
    return ((await askProcess({ step })) as { result: StepResult }).result
  }

  async function check(): Promise<Checked> {
    return ((await askProcess({ check: true })) as { checked: Checked }).checked
  }

  function askProcess(asked: Asked): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    answers.push(resolve)
    process.send(asked)
    void process.exited.then(() => reject(new Error('a load generator has ended')))
    return promise
  }

  async function stop() {
    process.kill()
    await process.exited
  }
}

/** Answers the bench's requests one by one. */
function serve() {
  let client: Client
  process.on('disconnect', () => process.exit())
  process.on('message', async (asked: Asked) => {
    if ('world' in asked) {
      client = await CLIENTS[asked.speaks](asked.world)
      answer({ ready: true })
    } else if ('step' in asked) answer({ result: await load(client, asked.step) })
    else answer({ checked: { faults: await client.check(), ...client.acknowledged() } })
  })
}

async function load(client: Client, { warmUp, ...schedule }: Step): Promise<StepResult> {
  await client.renew()
  const pool = createConnectionPool(client.port, MAX_CONNECTIONS)
  try {
    return await runStep({
      arrivals: scheduleArrivals(schedule),
      warmUp: warmUp * 1000,
      pool,
      exchangeOf: client.exchangeOf,
      patience: PATIENCE,
    })
  } finally {
    pool.close()
  }
}

function answer(answer: Answer) {
  process.send?.(answer)
}

if (import.meta.main) serve()
