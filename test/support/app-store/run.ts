import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { serveAppStoreApi } from './api.ts'
import { createAppStore } from './app-store.ts'

/**
 * `bun run app-store`: a fake App Store to try Homeport with. It writes the settings for the server into
 * `app-store.env` and answers on APP_STORE_PORT (4920): `POST /buy?user=<id>`, then `/renew`, `/cancel` and `/refund`. Each sends
 * the notification to the server and responds with the signed transaction.
 */
const PORT = Number(process.env['APP_STORE_PORT'] ?? 4920)
const SERVER = process.env['HOMEPORT_URL'] ?? 'http://localhost:3000'
const NOTIFICATIONS = `${SERVER}/api/webhooks/app-store/v1`

const clock = {
  get now() {
    return new Date()
  },
  advance() {
    throw new Error('the clock of the fake App Store is the real one')
  },
}
const store = await createAppStore(clock)
const api = serveAppStoreApi(store, () => clock.now)
const settings = Object.entries({ ...store.environment, ...api.environment })
const file = resolve('app-store.env')
writeFileSync(file, settings.map(([name, value]) => `${name}=${value}\n`).join(''))
let bought: ReturnType<typeof store.buy> | null = null

Bun.serve({
  port: PORT,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url)
    if (request.method !== 'POST') return new Response('POST only\n', { status: 405 })
    const notification = change(pathname, searchParams)
    if (notification === null || bought === null) {
      return new Response('Buy first: POST /buy?user=<id>\n', { status: 404 })
    }
    const reply = await fetch(NOTIFICATIONS, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(notification.body),
    })
    console.log(`${pathname}: the server answered ${reply.status} ${await reply.text()}`)
    return new Response(bought.signedTransaction())
  },
})
console.log(`The settings are in ${file}. Notifications go to ${NOTIFICATIONS}.`)

/** The notification about a change; null if there is nothing to change. */
function change(path: string, query: URLSearchParams) {
  if (path === '/buy') {
    bought = store.buy({
      product: query.get('product') ?? 'prod_example_pro',
      userId: query.get('user'),
    })
    return bought.notification
  }
  if (path === '/renew') return bought?.renew() ?? null
  if (path === '/cancel') return bought?.setAutoRenew(false) ?? null
  return path === '/refund' ? (bought?.refund() ?? null) : null
}
