import { beforeAll, expect, test } from 'bun:test'
import { WEBHOOK_TOKEN } from '../support/app.ts'
import { buildExecutable } from '../support/executable.ts'
import { findLostWrites, startMixedLoad } from '../support/mixed-load.ts'
import { startTwoExecutables } from '../support/two-executables.ts'

type TwoInstances = Awaited<ReturnType<typeof startTwoExecutables>>

const NOTHING_LOST = { events: [], emails: [], keys: [], rowsWithoutFile: [], names: [] }
const MAX_REPLY_MS = 12_000
const MAX_RECOVERY_MS = 5_000

const TYPES = ['INITIAL_PURCHASE', 'RENEWAL', 'CANCELLATION']

beforeAll(buildExecutable, 300_000)

test('killing connections every 0.7 s for a minute loses no data', async () => {
  await using instances = await startTwoExecutables()
  const { postgres } = instances
  await underLoad(instances, 'killed connections', 64, async () => {
    for (const start = Date.now(); Date.now() - start < 60_000; await Bun.sleep(700)) {
      await postgres.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()',
      )
    }
  })
}, 180_000)

test('restarting the PostgreSQL server three times under load loses no data', async () => {
  await using instances = await startTwoExecutables()
  const { postgres } = instances
  await underLoad(instances, 'restarts', 64, async () => {
    for (const signal of ['SIGINT', 'SIGQUIT', 'SIGINT'] as const) {
      await Bun.sleep(3_000)
      await postgres.stop(signal)
      await Bun.sleep(2_000)
      await postgres.start()
    }
  })
}, 180_000)

test('while the PostgreSQL server is unresponsive for 10 s, requests get 503 in time', async () => {
  await using instances = await startTwoExecutables()
  const { postgres } = instances
  await underLoad(instances, 'unresponsive server', 64, async () => {
    await Bun.sleep(2_000)
    await postgres.signalAll('SIGSTOP')
    await Bun.sleep(10_000)
    await postgres.signalAll('SIGCONT')
  })
}, 180_000)

test('events of one purchase get 200 or 503 during stalls', async () => {
  await using instances = await startTwoExecutables()
  const statuses: Record<string, number> = {}
  const sent: Promise<void>[] = []
  let isOver = false
  const load = (async () => {
    for (let user = 0; !isOver; user++, await Bun.sleep(100)) {
      for (const type of TYPES) sent.push(send(user, type), send(user, type))
    }
  })()
  for (let stall = 0; stall < 4; stall++) {
    await Bun.sleep(1_000)
    await instances.postgres.signalAll('SIGSTOP')
    await Bun.sleep(10_000)
    await instances.postgres.signalAll('SIGCONT')
  }
  await Bun.sleep(3_000)
  isOver = true
  await load
  await Promise.all(sent)
  console.log(`stalls: ${JSON.stringify(statuses)}`)
  expect(Object.keys(statuses).toSorted()).toEqual(['200', '503'])

  async function send(user: number, type: string) {
    const url = instances.urls[sent.length % 2] ?? ''
    const status = await deliver(url, user, TYPES.indexOf(type))
    statuses[status] = (statuses[status] ?? 0) + 1
  }
}, 180_000)

test('200 clients on pools of 3 connections are all answered', async () => {
  await using instances = await startTwoExecutables({ DATABASE_POOL: '3' })
  await underLoad(instances, 'full pools', 200, () => Bun.sleep(20_000), false)
}, 180_000)

test('killing an instance loses no data, and the other keeps serving', async () => {
  await using instances = await startTwoExecutables()
  const [killed, other] = instances.servers
  const load = await startMixedLoad(instances.urls, 64)
  await Bun.sleep(3_000)
  await killed?.stop('SIGKILL')
  const before = load.seen.ok
  await Bun.sleep(5_000)
  const served = load.seen.ok - before
  console.log(`killed instance: ${await load.stop()}`)
  expect(served).toBeGreaterThan(100)
  expect((await fetch(`${other?.url}/ready`)).status).toBe(200)
  expect(load.seen.unavailable).toBe(0)
  expect(load.problems.slice(0, 10)).toEqual([])
  const { rowsWithoutFile: _, ...lost } = await findLostWrites(
    load,
    instances.postgres,
    instances.databaseUrl,
    instances.filesDir,
  )
  expect(lost).toEqual({ events: [], emails: [], keys: [], names: [] })
}, 60_000)

test('an instance that freezes blocks the other one for at most ten seconds', async () => {
  await using instances = await startTwoExecutables()
  const [frozen = '', other = ''] = instances.urls
  const freeze = (signal: NodeJS.Signals) => instances.servers[0].process.kill(signal)
  const users = Array.from({ length: 24 }, (_, user) => user)
  let isOver = false
  const busy = users.map(async (user) => {
    for (let step = 0; !isOver; step++) await deliver(frozen, user, step)
  })
  await Bun.sleep(2_000)
  freeze('SIGSTOP')
  await Bun.sleep(10_000)
  // Events of the same purchase contend for a lock, so some need the one that the frozen instance held.
  const events = users.flatMap((user) => [0, 1, 2, 3].map((step) => [user, 1e5 + step] as const))
  const statuses = await Promise.all(events.map((event) => deliver(other, ...event)))
  expect(new Set(statuses)).toEqual(new Set([200]))
  freeze('SIGCONT')
  isOver = true
  await Promise.all(busy)
}, 60_000)

/** Delivers the next event of a user's purchase. Returns the status of the response. */
async function deliver(url: string, user: number, step: number): Promise<number> {
  const at = 1_783_000_000_000 + user * 1_000_000 + step
  const event = {
    id: `E-${user}-${step}`,
    type: TYPES[step % TYPES.length],
    app_user_id: `user-${user}`,
    original_transaction_id: `${user}`,
    entitlement_ids: ['pro'],
    environment: 'PRODUCTION',
    event_timestamp_ms: at,
    purchased_at_ms: at,
    expiration_at_ms: 4_102_444_800_000,
  }
  const { status } = await fetch(`${url}/api/webhooks/billing/v1`, {
    method: 'POST',
    headers: { authorization: `Bearer ${WEBHOOK_TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ event }),
  })
  return status
}

/**
 * Causes `fault` under load. The servers must recover in time, respond correctly and lose no data.
 */
async function underLoad(
  { urls, postgres, databaseUrl, filesDir }: TwoInstances,
  name: string,
  clients: number,
  fault: () => Promise<void>,
  mustRecover = true,
) {
  const load = await startMixedLoad(urls, clients)
  await Bun.sleep(2_000)
  await fault()
  const endedAt = performance.now()
  await Bun.sleep(mustRecover ? 3 * MAX_RECOVERY_MS : 0)
  const recovery = Math.max(0, load.seen.lastFailureAt - endedAt)
  const figures = await load.stop()
  console.log(
    `${name}: ${figures}, last failure (${load.seen.lastFailure}) ${Math.round(recovery)} ms after the end`,
  )
  const lost = await findLostWrites(load, postgres, databaseUrl, filesDir)
  expect(lost).toEqual(NOTHING_LOST)
  expect(load.problems.slice(0, 10)).toEqual([])
  expect(load.seen.unreachable).toBe(0)
  expect(load.seen.longest).toBeLessThan(MAX_REPLY_MS)
  if (mustRecover) expect(recovery).toBeLessThan(MAX_RECOVERY_MS)
}
