import { median } from '../../../bench/median.ts'
import { http, load, SECONDS } from '../../../bench/rounds.ts'
import { residentMemory, startHomeport } from '../../../bench/servers.ts'
import { createClock } from '../../../support/app.ts'
import { servePlayApi } from '../../../support/play-store/api.ts'
import { createPlayStore } from '../../../support/play-store/play-store.ts'

const PORT = 4808
const PURCHASES = 10_000
const PARALLEL = 32
const ROUNDS_BESIDE = 5

/** Measures new purchases that all wait for Google, and reads of the profile while the queue works. */
export async function benchPlayStore(dataDir: string, accessToken: string) {
  const clock = createClock()
  Object.defineProperty(clock, 'now', { get: () => new Date() })
  const store = createPlayStore(clock)
  await using api = servePlayApi(store, () => new Date())
  const server = await startHomeport(dataDir, PORT, api.environment)
  const read = {
    port: PORT,
    connections: 32,
    seconds: SECONDS,
    request: http('GET', '/api/user/profile/v1', accessToken),
  }
  await load(read)
  const alone = []
  for (let round = 0; round < ROUNDS_BESIDE; round++) alone.push(await load(read))

  const bought = Array.from({ length: PURCHASES }, () => store.buy({ userId: crypto.randomUUID() }))
  const startedAt = performance.now()
  for (let at = 0; at < PURCHASES; at += PARALLEL) {
    await Promise.all(bought.slice(at, at + PARALLEL).map(({ notification }) => push(notification)))
  }
  const deliveredAfter = performance.now() - startedAt
  const beside = []
  let peak = 0
  while (countAcknowledged() < PURCHASES) {
    if (beside.length < ROUNDS_BESIDE) beside.push(await load(read))
    else await Bun.sleep(1_000)
    peak = Math.max(peak, await residentMemory(server.pid))
  }
  const seconds = (performance.now() - startedAt) / 1000
  await server.stop()
  const requests = api.purchaseRequests.length
  console.log(
    `Google Play, ${PURCHASES} purchases at once: delivered in ${(deliveredAfter / 1000).toFixed(1)} s, queried and acknowledged in ${seconds.toFixed(0)} s with ${(requests / seconds).toFixed(0)} requests to Google a second (Google allows 50), peak ${Math.round(peak / 1e6)} MB resident`,
  )
  console.log(`profile GET beside the queue: ${describe(beside)}; alone: ${describe(alone)}`)

  async function push(notification: object | null) {
    const { token, json } = api.pushOf(notification ?? {})
    const reply = await fetch(`http://127.0.0.1:${PORT}/api/webhooks/play/v1`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(json),
    })
    if (reply.status !== 200) throw new Error(`a notification got ${reply.status}`)
  }

  function countAcknowledged() {
    return bought.filter(
      ({ purchase }) => purchase.acknowledgementState === 'ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED',
    ).length
  }
}

function describe(rounds: Awaited<ReturnType<typeof load>>[]): string {
  const perSecond = Math.round(median(rounds.map((one) => one.perSecond)))
  return `${perSecond}/s, p99 ${median(rounds.map((one) => one.p99)).toFixed(2)} ms`
}
