import { openData } from '../../../src/cli/data/open-data.ts'
import { readConfig } from '../../../src/config/config.ts'
import type { WebhookEvent } from '../../../src/features/webhooks/events.ts'
import { createLog } from '../../../src/lib/log/log.ts'
import { median } from '../../bench/median.ts'
import { startReceiver } from '../../support/receiver.ts'

const EVENTS = 2_000
/** Events a second in the steady case. */
const RATE = 100
const CHECKS = 20_000

type Services = Awaited<ReturnType<typeof openData>>['services']

/** Measures events for two endpoints, one of which never responds, and the cost of an event that no endpoint receives. */
export async function bench(dataDir: string) {
  const config = readConfig(
    {},
    {
      DATA_DIR: dataDir,
      RATES_PROVIDER: 'off',
      MIN_FREE_BYTES: '0',
      WEBHOOKS_ALLOW_PRIVATE: 'on',
    },
  )
  await using data = await openData(config, createLog('error'))
  const { services } = data
  console.log(`an event without a receiver: ${(await measureCheck(services)).toFixed(1)} µs`)
  using alive = startReceiver()
  using dead = startReceiver(() => new Promise<Response>(() => {}))
  for (const { url } of [alive, dead])
    await services.webhooks.endpoints.add({ url, events: ['all'] })
  const committed = new Map<string, number>()
  const start = performance.now()
  for (let at = 0; at < EVENTS; at++) {
    await Bun.sleep(Math.max(0, start + (at * 1_000) / RATE - performance.now()))
    await emit(`steady-${at}`)
  }
  await waitForArrival(EVENTS)
  const delays = listDelays('steady').toSorted((one, other) => one - other)
  const p99 = delays[Math.floor(delays.length * 0.99)] ?? 0
  console.log(
    `webhooks, ${RATE} events a second beside a dead endpoint: first attempt after ${median(delays).toFixed(1)} ms, p99 ${p99.toFixed(1)} ms (goal 1000)`,
  )
  const burstAt = performance.now()
  await Promise.all(Array.from({ length: EVENTS }, (_, at) => emit(`burst-${at}`)))
  const committedAfter = performance.now() - burstAt
  await waitForArrival(2 * EVENTS)
  const seconds = (performance.now() - burstAt) / 1000
  console.log(
    `webhooks, ${EVENTS} events at once beside a dead endpoint: committed in ${(committedAfter / 1000).toFixed(1)} s, delivered in ${seconds.toFixed(1)} s, ${Math.round(EVENTS / seconds)}/s`,
  )

  async function emit(text: string) {
    await services.db.write((tx) => services.webhooks.emit(tx, createEvent(text)))
    committed.set(text, performance.now())
  }

  async function waitForArrival(count: number) {
    while (alive.received.length < count) await Bun.sleep(10)
  }

  /** The time between commit and arrival of each event whose text begins with `prefix`, in ms. */
  function listDelays(prefix: string): number[] {
    return alive.received.flatMap(({ body, at }) => {
      const { text } = JSON.parse(body).data
      return text.startsWith(prefix) ? [at - (committed.get(text) ?? at)] : []
    })
  }
}

/** The cost of an event in µs: changes with one, compared with changes without one. */
async function measureCheck({ db, webhooks }: Services): Promise<number> {
  const rounds = []
  for (let round = 0; round < 5; round++) {
    const without = await measureTime(async () => {})
    const withEvent = await measureTime((tx) => webhooks.emit(tx, createEvent('')))
    rounds.push(((withEvent - without) * 1000) / CHECKS)
  }
  return median(rounds)

  async function measureTime(change: Parameters<typeof db.write<void>>[0]): Promise<number> {
    const start = performance.now()
    await Promise.all(Array.from({ length: CHECKS }, () => db.write(change)))
    return performance.now() - start
  }
}

function createEvent(text: string): WebhookEvent {
  return { type: 'test', userId: null, data: { text } }
}
