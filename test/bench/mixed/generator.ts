import type { Client, World } from './client.ts'
import { createConnectionPool } from './connection-pool.ts'
import { createHomeportClient } from './homeport-client.ts'
import { type Kind, scheduleArrivals } from './mix.ts'
import { runStep, type StepResult } from './open-loop.ts'
import { createPocketBaseClient } from './pocketbase-client.ts'

/**
 * A step: `rate` requests per second for `seconds`, of the kind `only` or of the mix. The first
 * `warmUp` seconds are not counted.
 */
export type Step = { rate: number; seconds: number; warmUp: number; seed: number; only?: Kind }

/** The requests to a generator, and its responses. */
type GeneratorRequest = { world: World; apiName: ApiName } | { step: Step } | { check: true }
export type Checked = { faults: string[] } & ReturnType<Client['acknowledged']>
type GeneratorReply = { ready: true } | { result: StepResult } | { checked: Checked }

export type ApiName = keyof typeof CLIENTS

const CLIENTS = { homeport: createHomeportClient, pocketbase: createPocketBaseClient }
const MAX_CONNECTIONS = 512
/** In ms. */
const REPLY_TIMEOUT = 5_000

export type Generator = ReturnType<typeof startGenerator>

/** Starts the process that loads one server and keeps its users' sessions from step to step. */
export function startGenerator(apiName: ApiName, world: World) {
  const pendingReplies: ((reply: GeneratorReply) => void)[] = []
  const process = Bun.spawn([globalThis.process.execPath, import.meta.path], {
    stdio: ['ignore', 'inherit', 'inherit'],
    ipc: (reply: GeneratorReply) => pendingReplies.shift()?.(reply),
  })
  const ready = sendRequest({ apiName, world })
  return { pid: process.pid, run, check, stop }

  async function run(step: Step): Promise<StepResult> {
    await ready
    return ((await sendRequest({ step })) as { result: StepResult }).result
  }

  async function check(): Promise<Checked> {
    return ((await sendRequest({ check: true })) as { checked: Checked }).checked
  }

  function sendRequest(request: GeneratorRequest): Promise<GeneratorReply> {
    const { promise, resolve, reject } = Promise.withResolvers<GeneratorReply>()
    pendingReplies.push(resolve)
    process.send(request)
    void process.exited.then(() => reject(new Error('a load generator exited unexpectedly')))
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
  process.on('message', async (request: GeneratorRequest) => {
    if ('world' in request) {
      client = await CLIENTS[request.apiName](request.world)
      sendReply({ ready: true })
    } else if ('step' in request) sendReply({ result: await load(client, request.step) })
    else sendReply({ checked: { faults: await client.check(), ...client.acknowledged() } })
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
      createExchange: client.createExchange,
      replyTimeout: REPLY_TIMEOUT,
    })
  } finally {
    pool.close()
  }
}

function sendReply(reply: GeneratorReply) {
  process.send?.(reply)
}

if (import.meta.main) serve()
