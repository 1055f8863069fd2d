import { join } from 'node:path'
import { startPostgres } from '../support/postgres-server.ts'
import { median } from './median.ts'
import { http, load, ROUNDS, SECONDS } from './rounds.ts'
import { type RunningServer, startHomeport, WEBHOOK_TOKEN } from './servers.ts'

const CONNECTIONS = 32
/** With more, the server refuses some, because each password hash occupies a core. */
const SIGN_INS = 8
const SIGN_IN = { email: 'bench@example.com', password: 'a long password' }

/** One and two instances on a local PostgreSQL server, relative to one on SQLite. */
export async function benchPostgres(folder: string) {
  // Makes PostgreSQL as durable as SQLite is in this bench.
  await using server = await startPostgres({ fsync: 'on', full_page_writes: 'on' })
  const shared = { DATABASE_URL: server.url, SECRET_KEY: 'the secret key of this bench only' }
  const sqlite = await startHomeport(join(folder, 'sqlite-baseline'), 4811)
  const instances = [
    await startHomeport(join(folder, 'instance-1'), 4812, shared),
    await startHomeport(join(folder, 'instance-2'), 4813, shared),
  ]
  const tokens = [await register(sqlite), await register(instances[0] as RunningServer)] as const
  const cases = [
    { name: 'public GET', request: () => http('GET', '/api/user/app_settings/v1') },
    { name: 'profile GET', request: (token: string) => http('GET', '/api/user/profile/v1', token) },
    { name: 'webhook, event applied', request: renewal },
    {
      name: 'sign-in',
      connections: SIGN_INS,
      request: () => http('POST', '/api/auth/login/v1', undefined, JSON.stringify(SIGN_IN)),
    },
  ]
  for (const { name, connections = CONNECTIONS, request } of cases) {
    const rates: number[][] = []
    const slowest: number[][] = []
    for (let round = 0; round <= ROUNDS; round++) {
      const measured = [
        await loadAll([sqlite], connections, request(tokens[0])),
        await loadAll(instances.slice(0, 1), connections, request(tokens[1])),
        await loadAll(instances, connections, request(tokens[1])),
      ]
      // The first round is a warm-up.
      if (round === 0) continue
      rates.push(measured.map(({ perSecond }) => perSecond))
      slowest.push(measured.map(({ p99 }) => p99))
    }
    const ratio = (at: number) => median(rates.map((one) => (one[at] ?? 0) / (one[0] ?? 1)))
    const figures = ['SQLite', 'one instance', 'two'].map((label, at) => {
      const perSecond = Math.round(median(rates.map((one) => one[at] ?? 0)))
      const p99 = median(slowest.map((one) => one[at] ?? 0))
      return `${label} ${perSecond}/s, p99 ${p99.toFixed(1)} ms`
    })
    console.log(
      `PostgreSQL, ${name}: ${ratio(1).toFixed(2)} of SQLite, ${ratio(2).toFixed(2)} with two — ${figures.join('; ')}`,
    )
  }
  for (const server of [sqlite, ...instances]) await server.stop()
}

/** The same total load, spread over several servers. */
async function loadAll(servers: RunningServer[], totalConnections: number, request: string) {
  const connections = totalConnections / servers.length
  const results = await Promise.all(
    servers.map(({ port }) => load({ port, connections, seconds: SECONDS, request })),
  )
  return {
    perSecond: results.reduce((sum, { perSecond }) => sum + perSecond, 0),
    p99: Math.max(...results.map(({ p99 }) => p99)),
  }
}

async function register({ port }: RunningServer): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${port}/api/auth/register/v1`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(SIGN_IN),
  })
  const { response } = (await reply.json()) as { response: { accessToken: string } }
  return response.accessToken
}

function renewal(): string {
  const event = {
    id: 'EVENT-{{id}}',
    type: 'RENEWAL',
    event_timestamp_ms: '{{time}}',
    app_user_id: 'user-{{member}}',
    product_id: 'prod_example_pro',
    purchased_at_ms: 1_783_000_000_000,
    expiration_at_ms: 1_785_600_000_000,
    environment: 'PRODUCTION',
    entitlement_ids: ['pro'],
    transaction_id: '{{id}}',
    original_transaction_id: '{{member}}',
    store: 'APP_STORE',
  }
  const body = JSON.stringify({ api_version: '1.0', event }).replace('"{{time}}"', '{{time}}')
  return http('POST', '/api/webhooks/billing/v1', WEBHOOK_TOKEN, body)
}
