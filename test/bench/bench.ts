import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { benchImages } from './images.ts'
import { filledLength, type Load, type LoadResult } from './load.ts'
import { median } from './median.ts'
import { type Running, residentMemory, startBare, startHomeport, WEBHOOK_TOKEN } from './servers.ts'

/** Interleaved rounds of each case, and seconds of load in each. */
const ROUNDS = 5
const SECONDS = 3

type Case = { name: string; connections: number; request: (token: string) => string; floor: number }

const cases: Case[] = [
  {
    name: 'public GET',
    connections: 32,
    floor: 0.55,
    request: () => http('GET', '/api/user/app_settings/v1'),
  },
  {
    name: 'profile GET',
    connections: 32,
    floor: 0.5,
    request: (token) => http('GET', '/api/user/profile/v1', token),
  },
  { name: 'webhook, 1 connection', connections: 1, floor: 0.6, request: webhook },
  { name: 'webhook, 32 connections', connections: 32, floor: 3, request: webhook },
]

const folder = await mkdtemp(join(tmpdir(), 'homeport-bench-'))
try {
  const only = process.argv[2]
  for (const one of cases) {
    if (only === undefined || one.name.includes(only)) await benchCase(one)
  }
  if (only === undefined || only === 'image') {
    const dataDir = join(folder, 'images')
    await benchImages(folder, ROUNDS, await makeData(dataDir), dataDir)
  }
  if (only === undefined || only === 'start') await benchStart()
} finally {
  await rm(folder, { recursive: true, force: true })
}

/** Both programs run side by side on data of their own; only one has work at a time. */
async function benchCase({ name, connections, request, floor }: Case) {
  const dataDirs = [join(folder, `${name}-homeport`), join(folder, `${name}-bare`)] as const
  const tokens = [await makeData(dataDirs[0]), await makeData(dataDirs[1])] as const
  const homeport = await startHomeport(dataDirs[0], 4801)
  const bare = await startBare(dataDirs[1], 4802)
  const results: { homeport: LoadResult; bare: LoadResult }[] = []
  for (let round = 0; round <= ROUNDS; round++) {
    const measured = {
      homeport: await load({
        port: 4801,
        connections,
        seconds: SECONDS,
        request: request(tokens[0]),
      }),
      bare: await load({ port: 4802, connections, seconds: SECONDS, request: request(tokens[1]) }),
    }
    // The first round warms both up.
    if (round > 0) results.push(measured)
  }
  await homeport.stop()
  await bare.stop()
  const ratio = median(results.map((one) => one.homeport.perSecond / one.bare.perSecond))
  const ours = describe(results.map((one) => one.homeport))
  const theirs = describe(results.map((one) => one.bare))
  console.log(`${name}: ${ratio.toFixed(2)} of bare (floor ${floor}) — ${ours} against ${theirs}`)
}

async function benchStart() {
  const dataDir = join(folder, 'start')
  await makeData(dataDir)
  const times: number[] = []
  const memory: number[] = []
  for (let round = 0; round < ROUNDS * 2; round++) {
    const server = await startHomeport(dataDir, 4803)
    times.push(server.readyAfter)
    if (round < 3) {
      await Bun.sleep(3_000)
      memory.push(await residentMemory(server.pid))
    }
    await server.stop()
  }
  const { size } = Bun.file(join(import.meta.dir, '..', '..', 'dist', 'homeport'))
  console.log(`start to ready: ${median(times).toFixed(0)} ms (ceiling 150)`)
  console.log(`idle memory: ${(median(memory) / 1e6).toFixed(0)} MB resident (ceiling 90)`)
  console.log(`executable: ${(size / 1e6).toFixed(0)} MB`)
}

/** A data directory with one signed-in user; answers the access token. */
async function makeData(dataDir: string): Promise<string> {
  const server: Running = await startHomeport(dataDir, 4800)
  const reply = await fetch(`http://127.0.0.1:${server.port}/api/auth/register/v1`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'bench@example.com', password: 'a long password' }),
  })
  const { response } = (await reply.json()) as { response: { accessToken: string } }
  await server.stop()
  return response.accessToken
}

async function load(what: Load): Promise<LoadResult> {
  const generator = Bun.spawn(
    [process.execPath, join(import.meta.dir, 'load.ts'), JSON.stringify(what)],
    { stdout: 'pipe', stderr: 'inherit' },
  )
  const result: LoadResult = JSON.parse(await new Response(generator.stdout).text())
  if (result.failed > 0) throw new Error(`${result.failed} requests were not answered with 200`)
  return result
}

function webhook(): string {
  const event = {
    id: 'EVENT-{{id}}',
    type: 'RENEWAL',
    event_timestamp_ms: 1_783_000_000_000,
    app_user_id: 'user-{{id}}',
    original_app_user_id: 'user-{{id}}',
    aliases: ['user-{{id}}'],
    product_id: 'prod_example_pro',
    period_type: 'NORMAL',
    purchased_at_ms: 1_783_000_000_000,
    expiration_at_ms: 1_785_600_000_000,
    environment: 'PRODUCTION',
    entitlement_ids: ['pro'],
    transaction_id: '{{id}}',
    original_transaction_id: '{{id}}',
    store: 'APP_STORE',
    price: 9.99,
    currency: 'USD',
    subscriber_attributes: { $email: { value: 'x@example.com', updated_at_ms: 1_783_000_000_000 } },
  }
  const body = JSON.stringify({ api_version: '1.0', event })
  return http('POST', '/api/webhooks/billing/v1', WEBHOOK_TOKEN, body)
}

function http(method: string, path: string, token?: string, body?: string): string {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1']
  if (token !== undefined) head.push(`Authorization: Bearer ${token}`)
  if (body !== undefined) {
    head.push('Content-Type: application/json', `Content-Length: ${filledLength(body)}`)
  }
  return `${head.join('\r\n')}\r\n\r\n${body ?? ''}`
}

function describe(results: LoadResult[]): string {
  const perSecond = Math.round(median(results.map((one) => one.perSecond)))
  const p99 = median(results.map((one) => one.p99))
  return `${perSecond}/s, p99 ${p99.toFixed(2)} ms`
}
