import { beforeAll, expect, test } from 'bun:test'
import { WEBHOOK_TOKEN } from '../support/app.ts'
import { buildExecutable, installExecutable, type Server } from '../support/executable.ts'
import { fault } from '../support/fault.ts'
import { postJson, register, requesterFor } from '../support/requests.ts'
import { watchServer } from '../support/watch.ts'

beforeAll(buildExecutable, 300_000)

const QUIET = { LOG_LEVEL: 'warn' }
const START = Date.UTC(2026, 0)
const HOUR = 3_600_000

test(`the cost of a late event depends on later events, not on the purchase's history ${fault(82)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start(QUIET)
  const id = await readUserId(server)
  let sent = 0
  for (const size of [1_000, 10_000, 20_000]) {
    await deliverAll(
      server,
      Array.from({ length: size - sent }, () => renewal(id, '1', sent++ * 2)),
    )
    const late: number[] = []
    for (const place of [0.1, 0.3, 0.5, 0.7, 0.9]) {
      const start = performance.now()
      await deliver(server, renewal(id, '1', Math.floor(size * place) * 2 + 1))
      late.push(performance.now() - start)
    }
    console.log(`82: late among ${size}: ${late.map((ms) => ms.toFixed(1)).join(', ')} ms`)
    expect(Math.max(...late)).toBeLessThan(60)
  }
  const stopWatching = watchServer(server, () => health(server), 1)
  const places = Array.from({ length: 16 }, (_, at) => at * 1_200 + 13)
  await Promise.all(places.map((place) => deliver(server, renewal(id, '1', place))))
  const { longest } = await stopWatching()
  console.log(`82: /health during sixteen late events: ${longest.toFixed(1)} ms at most`)
  expect(longest).toBeLessThan(60)
  await expectSameAfterRebuild(homeport)
}, 300_000)

test(`the first of 20,000 events arrives last, and no request waits for it ${fault(82)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start(QUIET)
  const id = await readUserId(server)
  await deliverAll(
    server,
    Array.from({ length: 20_000 }, (_, at) => renewal(id, '1', at + 1)),
  )
  const stopWatching = watchServer(server, () => health(server), 1)
  const start = performance.now()
  await deliver(server, { ...renewal(id, '1', 0), type: 'INITIAL_PURCHASE' })
  const took = performance.now() - start
  await Bun.sleep(2_000)
  const { longest } = await stopWatching()
  console.log(`82: answered in ${took.toFixed(1)} ms, /health ${longest.toFixed(1)} ms at most`)
  expect(took).toBeLessThan(60)
  expect(longest).toBeLessThan(60)
  await expectSameAfterRebuild(homeport)
}, 300_000)

test(`a customer with 5,000 purchases is read and transferred without delaying other requests ${fault(82)}`, async () => {
  await using homeport = await installExecutable()
  const server = await homeport.start(QUIET)
  const { accessToken } = await register(server, 'ann@example.com')
  const id = await readUserId(server, accessToken)
  await deliverAll(
    server,
    Array.from({ length: 5_000 }, (_, at) => renewal(id, `${at}`, at)),
  )
  const headers = { authorization: `Bearer ${accessToken}` }
  const read = async () => {
    const reply = await fetch(`${server.url}/api/user/subscription/v1`, { headers })
    expect(reply.status).toBe(200)
    await reply.bytes()
  }
  await read()
  const stopWatching = watchServer(server, () => health(server), 1)
  let start = performance.now()
  await read()
  const reading = performance.now() - start
  start = performance.now()
  const [from, to] = [[id], ['another-user']]
  await deliver(server, { type: 'TRANSFER', transferred_from: from, transferred_to: to, at: 6_000 })
  const transfer = performance.now() - start
  await Bun.sleep(4_000)
  const { longest } = await stopWatching()
  console.log(
    `82: read ${reading.toFixed(1)} ms, transfer ${transfer.toFixed(1)} ms, /health ${longest.toFixed(1)} ms at most`,
  )
  expect(reading).toBeLessThan(120)
  expect(transfer).toBeLessThan(60)
  expect(longest).toBeLessThan(60)
  await expectSameAfterRebuild(homeport)
}, 300_000)

type SentEvent = { type: string; at: number } & Record<string, unknown>

function renewal(user: string, purchase: string, at: number): SentEvent {
  return {
    type: 'RENEWAL',
    at,
    app_user_id: user,
    store: 'APP_STORE',
    environment: 'PRODUCTION',
    product_id: 'pro',
    entitlement_ids: ['pro'],
    original_transaction_id: purchase,
    purchased_at_ms: START + at * HOUR,
    expiration_at_ms: START + at * HOUR + 30 * 24 * HOUR,
  }
}

let nextId = 0

async function deliver(server: Server, { at, ...fields }: SentEvent) {
  const event = { id: `E-${nextId++}`, event_timestamp_ms: START + at * HOUR, ...fields }
  const reply = await postJson(server, '/api/webhooks/billing/v1', { event }, WEBHOOK_TOKEN)
  expect(reply.status).toBe(200)
  await reply.bytes()
}

async function deliverAll(server: Server, events: SentEvent[]) {
  for (let at = 0; at < events.length; at += 32) {
    await Promise.all(events.slice(at, at + 32).map((event) => deliver(server, event)))
  }
}

async function health({ url }: Server) {
  await (await fetch(`${url}/health`)).bytes()
}

async function readUserId(server: Server, token?: string): Promise<string> {
  const accessToken = token ?? (await register(server, 'ann@example.com')).accessToken
  const headers = { authorization: `Bearer ${accessToken}` }
  const { body } = await requesterFor(server)('GET', '/api/user/profile/v1', { headers })
  return body.response._id
}

async function expectSameAfterRebuild({ run }: Awaited<ReturnType<typeof installExecutable>>) {
  const { stdout } = await run(['events', 'rebuild', '--json'])
  expect(JSON.parse(stdout).changed).toEqual([])
}
