import { afterEach, expect, test } from 'bun:test'
import { encodeRequest } from './mixed/client.ts'
import { createConnectionPool } from './mixed/connection-pool.ts'
import { KINDS, scheduleArrivals } from './mixed/mix.ts'
import { runStep } from './mixed/open-loop.ts'
import { highestSustained, initialRates, nextRate, type RateResult } from './mixed/rates.ts'
import { createReplyReader } from './mixed/reply-reader.ts'

const servers: Bun.Server<undefined>[] = []
afterEach(() => Promise.all(servers.splice(0).map((server) => server.stop(true))))

test('the mix has the configured shares and rate', () => {
  const arrivals = scheduleArrivals({ rate: 1_000, seconds: 100, seed: 1 })
  expect(arrivals.length / 100_000).toBeCloseTo(1, 1)
  const shares = KINDS.map(
    (kind) => (arrivals.filter((arrival) => arrival.kind === kind).length * 100) / arrivals.length,
  )
  const expected = [70, 7.5, 7.5, 5, 3, 4, 1.5, 1.5]
  for (const [at, share] of expected.entries()) expect(shares[at]).toBeCloseTo(share, 0)
})

test('the same seed gives the same schedule, another seed a different one', () => {
  const schedule = (seed: number) => scheduleArrivals({ rate: 100, seconds: 1, seed })
  expect(schedule(7)).toEqual(schedule(7))
  expect(schedule(7)).not.toEqual(schedule(8))
})

test('a stall delays every request that was due during it', async () => {
  let stall: Promise<void> | undefined
  const server = serve(async () => {
    stall ??= Bun.sleep(450)
    await stall
    return new Response()
  })
  const { all } = await load(server, { seconds: 0.6, max: 64 })
  // Three quarters of the requests are due during the stall; a closed loop would see one slow request.
  expect(all.count).toBe(60)
  expect(all.max).toBeGreaterThan(430)
  expect(all.p50).toBeGreaterThan(130)
})

test('the wait for a connection is part of the latency', async () => {
  const server = serve(async () => {
    await Bun.sleep(20)
    return new Response()
  })
  // Ten requests at once share one connection.
  const { all } = await load(server, { seconds: 0.1, rate: 1e6, count: 10, max: 1 })
  expect(all.max).toBeGreaterThan(190)
})

test('requests without a 200 or 304 response count as failed', async () => {
  let count = 0
  const server = serve(async () => {
    const status = [200, 304, 503][count++]
    if (status === undefined) await Bun.sleep(5_000)
    return new Response(null, { status: status ?? 200 })
  })
  const { failed, failures } = await load(server, { seconds: 0.04, max: 8, replyTimeout: 100 })
  expect(failures).toEqual({ 503: 1, none: 1 })
  expect(failed).toBe(2)
})

test('a response is complete once its length or its last chunk has arrived', () => {
  const reader = createReplyReader()
  const take = (text: string) => {
    const reply = reader.take(Buffer.from(text))
    return reply && `${reply.status} ${reply.body}`
  }
  expect(take('HTTP/1.1 200 OK\r\nContent-Le')).toBeNull()
  expect(take('ngth: 5\r\n\r\nab')).toBeNull()
  expect(take('cde')).toBe('200 abcde')
  expect(take('HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n')).toBe('304 ')
  expect(take('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n')).toBeNull()
  expect(take('2\r\nde\r\n0\r\n\r\n')).toBe('200 abcde')
})

test('the search ends at most a tenth below the maximum rate', () => {
  for (const capacity of [65, 100, 750, 5_000]) {
    const judge = (rate: number): RateResult => ({ rate, isSustained: rate <= capacity })
    const tried = initialRates(64).map(judge)
    for (let rate = nextRate(tried); rate !== null; rate = nextRate(tried)) {
      tried.push(judge(rate))
    }
    const found = highestSustained(tried) ?? 0
    expect(found).toBeLessThanOrEqual(capacity)
    expect(found).toBeGreaterThan(capacity / 1.11)
    expect(tried.length).toBeLessThan(initialRates(64).length + 4)
  }
})

test('a lower rate that was too slow by chance does not end the search', () => {
  const tried = [64, 91, 128].map((rate) => ({ rate, isSustained: rate !== 91 }))
  expect([highestSustained(tried), nextRate(tried)]).toEqual([128, null])
})

test('the search returns null if no rate is sustained', () => {
  const failing = [64, 91].map((rate) => ({ rate, isSustained: false }))
  expect([highestSustained(failing), nextRate(failing)]).toEqual([null, null])
})

function serve(fetch: () => Promise<Response>) {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch })
  servers.push(server)
  return server
}

type Load = { seconds: number; rate?: number; count?: number; max: number; replyTimeout?: number }

/** Sends reads at an even rate. */
async function load(server: Bun.Server<undefined>, { seconds, max, ...rest }: Load) {
  const { rate = 100, count = seconds * rate, replyTimeout = 5_000 } = rest
  const pool = createConnectionPool(Number(server.port), max)
  const bytes = encodeRequest('GET', '/')
  const result = await runStep({
    arrivals: Array.from({ length: count }, (_, at) => ({
      at: (at * 1000) / rate,
      kind: 'read' as const,
    })),
    warmUp: 0,
    pool,
    createExchange: () => ({ bytes, accept: () => {} }),
    replyTimeout,
  })
  pool.close()
  return result
}
