import { beforeAll, expect, test } from 'bun:test'
import { buildExecutable } from '../support/executable.ts'
import { lostIn, startMixedLoad } from '../support/mixed-load.ts'
import { startTwoExecutables } from '../support/two-executables.ts'

type Two = Awaited<ReturnType<typeof startTwoExecutables>>

const NOTHING_LOST = { events: [], emails: [], keys: [], rowsWithoutFile: [], names: [] }
/** In ms. */
const LONGEST_REPLY = 12_000
const RECOVERY = 5_000

beforeAll(buildExecutable, 60_000)

test('connections that are killed every 0.7 s for a minute lose nothing', async () => {
  await using two = await startTwoExecutables()
  const { postgres } = two
  await underLoad(two, 'killed connections', 64, async () => {
    for (const start = Date.now(); Date.now() - start < 60_000; await Bun.sleep(700)) {
      await postgres.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()',
      )
    }
  })
}, 180_000)

test('a server that is restarted three times under load loses nothing', async () => {
  await using two = await startTwoExecutables()
  const { postgres } = two
  await underLoad(two, 'restarts', 64, async () => {
    for (const signal of ['SIGINT', 'SIGQUIT', 'SIGINT'] as const) {
      await Bun.sleep(3_000)
      await postgres.stop(signal)
      await Bun.sleep(2_000)
      await postgres.start()
    }
  })
}, 180_000)

test('a server that is silent for 10 s is answered for with 503 in time', async () => {
  await using two = await startTwoExecutables()
  const { postgres } = two
  await underLoad(two, 'silence', 64, async () => {
    await Bun.sleep(2_000)
    await postgres.signalAll('SIGSTOP')
    await Bun.sleep(10_000)
    await postgres.signalAll('SIGCONT')
  })
}, 180_000)

test('200 clients on pools of 3 connections are all answered', async () => {
  await using two = await startTwoExecutables({ DATABASE_POOL: '3' })
  await underLoad(two, 'full pools', 200, () => Bun.sleep(20_000), false)
}, 180_000)

test('an instance that is killed loses nothing, and the other serves on', async () => {
  await using two = await startTwoExecutables()
  const [killed, other] = two.servers
  const load = await startMixedLoad(two.urls, 64)
  await Bun.sleep(3_000)
  await killed?.stop('SIGKILL')
  const before = load.seen.ok
  await Bun.sleep(5_000)
  const served = load.seen.ok - before
  console.log(`killed instance: ${await load.stop()}`)
  expect(served).toBeGreaterThan(100)
  expect((await fetch(`${other?.url}/ready`)).status).toBe(200)
  expect(load.seen.unavailable).toBe(0)
  expect(load.wrong.slice(0, 10)).toEqual([])
  const { rowsWithoutFile: _, ...lost } = await lostIn(
    load,
    two.postgres,
    two.databaseUrl,
    two.filesDir,
  )
  expect(lost).toEqual({ events: [], emails: [], keys: [], names: [] })
}, 60_000)

/** Does `fault` under load; then all must be well again soon, and nothing wrong or lost. */
async function underLoad(
  { urls, postgres, databaseUrl, filesDir }: Two,
  name: string,
  clients: number,
  fault: () => Promise<void>,
  mustRecover = true,
) {
  const load = await startMixedLoad(urls, clients)
  await Bun.sleep(2_000)
  await fault()
  const endedAt = performance.now()
  await Bun.sleep(mustRecover ? 3 * RECOVERY : 0)
  const recovery = Math.max(0, load.seen.lastFailureAt - endedAt)
  const figures = await load.stop()
  console.log(
    `${name}: ${figures}, last failure (${load.seen.lastFailure}) ${Math.round(recovery)} ms after the end`,
  )
  const lost = await lostIn(load, postgres, databaseUrl, filesDir)
  expect(lost).toEqual(NOTHING_LOST)
  expect(load.wrong.slice(0, 10)).toEqual([])
  expect(load.seen.unreachable).toBe(0)
  expect(load.seen.longest).toBeLessThan(LONGEST_REPLY)
  if (mustRecover) expect(recovery).toBeLessThan(RECOVERY)
}
