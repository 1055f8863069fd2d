import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { buildExecutable } from '../support/executable.ts'
import { benchBilling } from './billing.ts'
import { benchImages } from './images.ts'
import { median } from './median.ts'
import { type PocketBase, startPocketBase } from './pocketbase.ts'
import { benchPostgres } from './postgres.ts'
import { compare, http, load, ROUNDS, SECONDS } from './rounds.ts'
import { benchSealed } from './sealed.ts'
import { benchServerApi } from './server-api.ts'
import {
  EXECUTABLE,
  type RunningServer,
  residentMemory,
  startBare,
  startHomeport,
  WEBHOOK_TOKEN,
} from './servers.ts'
import { benchSignIns } from './sign-ins.ts'
import { benchStreams } from './streams.ts'

const FEATURES = join(import.meta.dir, '..', 'features')

/** A feature's benchmark. `make` creates a data directory in `folder` and returns an access token. */
type FeatureBench = { bench: (folder: string, make: typeof makeData) => Promise<void> }

type Case = {
  name: string
  connections: number
  request: (token: string) => string
  /** Relative to the bare program's rate. */
  goal: number
  /** The same request for PocketBase, and the goal relative to it. */
  rival?: { name: string; request: (pocketBase: PocketBase) => string; goal: number }
}

const cases: Case[] = [
  {
    name: 'public GET',
    connections: 32,
    goal: 0.9,
    request: () => http('GET', '/api/user/app_settings/v1'),
    rival: { name: "PocketBase's health", request: ({ health }) => health, goal: 3 },
  },
  {
    name: 'profile GET',
    connections: 32,
    goal: 1.6,
    request: (token) => http('GET', '/api/user/profile/v1', token),
    rival: { name: "PocketBase's record", request: ({ profile }) => profile, goal: 7 },
  },
  { name: 'webhook, 1 connection', connections: 1, goal: 0.6, request: webhook },
  { name: 'webhook, 32 connections', connections: 32, goal: 3, request: webhook },
]

await buildExecutable()
const folder = await mkdtemp(join(tmpdir(), 'homeport-bench-'))
const pocketBase = await startPocketBase(folder)
try {
  const only = process.argv[2]
  for (const testCase of cases) {
    if (only === undefined || testCase.name.includes(only)) await benchCase(testCase)
  }
  if (only === undefined || only === 'image') {
    const dataDir = join(folder, 'images')
    await benchImages(folder, ROUNDS, await makeData(dataDir), dataDir)
  }
  if (only === undefined || only === 'sealed') {
    const dataDir = join(folder, 'sealed')
    await benchSealed(folder, dataDir, await makeData(dataDir))
  }
  if (only === undefined || only === 'sign-ins') {
    const dataDir = join(folder, 'sign-ins')
    await makeData(dataDir)
    await benchSignIns(dataDir)
  }
  if (only === undefined || only === 'streams') {
    const dataDirs = [join(folder, 'streams'), join(folder, 'no-streams')] as const
    await benchStreams(dataDirs, [await makeData(dataDirs[0]), await makeData(dataDirs[1])])
  }
  if (only === undefined || only === 'postgres') await benchPostgres(folder)
  if (only === undefined || only === 'start') await benchStart()
  if (only === undefined || only === 'server-api') await benchServerApi(folder, makeData)
  if (only === undefined || only === 'billing') {
    const dataDir = join(folder, 'billing')
    await benchBilling(dataDir, await makeData(dataDir), pocketBase)
  }
  for (const path of new Bun.Glob('*/bench.ts').scanSync(FEATURES)) {
    const name = dirname(path)
    if (only !== undefined && only !== name) continue
    const { bench } = (await import(join(FEATURES, path))) as FeatureBench
    await bench(join(folder, name), makeData)
  }
} finally {
  await pocketBase?.stop()
  await rm(folder, { recursive: true, force: true })
}

/** The programs run side by side, each with its own data; only one is loaded at a time. */
async function benchCase({ name, connections, request, goal, rival }: Case) {
  const dataDirs = [join(folder, `${name}-homeport`), join(folder, `${name}-bare`)] as const
  const tokens = [await makeData(dataDirs[0]), await makeData(dataDirs[1])] as const
  const homeport = await startHomeport(dataDirs[0], 4801)
  const bare = await startBare(dataDirs[1], 4802)
  const common = { connections, seconds: SECONDS }
  const [ours, theirs] = [
    { ...common, port: 4801 },
    { ...common, port: 4802 },
  ]
  await compare(
    name,
    goal,
    { ...ours, request: request(tokens[0]) },
    { ...theirs, request: request(tokens[1]) },
  )
  if (rival && pocketBase) {
    await compare(
      `${name}, against ${rival.name}`,
      rival.goal,
      { ...ours, request: request(tokens[0]) },
      { ...common, port: pocketBase.port, request: rival.request(pocketBase) },
    )
  }
  await homeport.stop()
  await bare.stop()
}

async function benchStart() {
  const dataDir = join(folder, 'start')
  const token = await makeData(dataDir)
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
  const afterLoad = await memoryAfterLoad(dataDir, token)
  const { size } = Bun.file(EXECUTABLE)
  console.log(`time to ready: ${median(times).toFixed(0)} ms (goal 70)`)
  console.log(`idle memory: ${(median(memory) / 1e6).toFixed(0)} MB resident (goal 72)`)
  console.log(
    `memory one minute after load: ${(afterLoad / 1e6).toFixed(0)} MB resident (goal 110)`,
  )
  console.log(`executable: ${(size / 1e6).toFixed(0)} MB`)
}

/** Resident memory in bytes, a minute after reads and events at full rate. */
async function memoryAfterLoad(dataDir: string, token: string): Promise<number> {
  const server = await startHomeport(dataDir, 4803)
  for (const { connections, request } of cases) {
    await load({ port: 4803, connections, seconds: SECONDS, request: request(token) })
  }
  await Bun.sleep(60_000)
  const memory = await residentMemory(server.pid)
  await server.stop()
  return memory
}

/** Creates a data directory with one signed-in user and returns the access token. */
async function makeData(dataDir: string): Promise<string> {
  const server: RunningServer = await startHomeport(dataDir, 4800)
  const reply = await fetch(`http://127.0.0.1:${server.port}/api/auth/register/v1`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'bench@example.com', password: 'a long password' }),
  })
  const { response } = (await reply.json()) as { response: { accessToken: string } }
  await server.stop()
  return response.accessToken
}

function webhook(): string {
  const event = {
    id: 'EVENT-{{id}}',
    // Stored but not applied, like the bare program; applying events has its own case.
    type: 'TEST',
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
