import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { servePlayApi } from './api.ts'
import { createPlayStore } from './play-store.ts'

/**
 * `bun run play-store`: a fake Play Store to try Homeport with. It writes the settings for the server into
 * `play-store.env` and answers on PLAY_STORE_PORT (4921): `POST /buy?user=<id>`, then `/renew`, `/cancel`, `/pause`,
 * `/resume`, `/hold` and `/refund`. Each sends the notifications to the server and responds with the purchase token.
 */
const PORT = Number(process.env['PLAY_STORE_PORT'] ?? 4921)
const SERVER = process.env['HOMEPORT_URL'] ?? 'http://localhost:3000'
const NOTIFICATIONS = `${SERVER}/api/webhooks/play/v1`
const PAUSE_DAYS = 30

const clock = {
  get now() {
    return new Date()
  },
  advance() {
    throw new Error('the clock of the fake Play Store is the real one')
  },
}
const store = createPlayStore(clock)
const api = servePlayApi(store, () => clock.now)
const file = resolve('play-store.env')
const settings = Object.entries(api.environment)
writeFileSync(file, settings.map(([name, value]) => `${name}=${value}\n`).join(''))
let bought: ReturnType<typeof store.buy> | null = null

Bun.serve({
  port: PORT,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url)
    if (request.method !== 'POST') return new Response('POST only\n', { status: 405 })
    try {
      const notifications = change(pathname, searchParams)
      if (notifications === null || bought === null) {
        return new Response('Buy first: POST /buy?user=<id>\n', { status: 404 })
      }
      for (const notification of notifications) await deliver(pathname, notification)
      return new Response(bought.token)
    } catch (error) {
      return new Response(`${(error as Error).message}\n`, { status: 409 })
    }
  },
})
console.log(`The settings are in ${file}. Notifications go to ${NOTIFICATIONS}.`)

async function deliver(path: string, notification: object) {
  const { token, json } = api.pushOf(notification)
  const reply = await fetch(NOTIFICATIONS, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(json),
  })
  console.log(`${path}: the server answered ${reply.status} ${await reply.text()}`)
}

/** The notifications about a change; null if there is nothing to change. */
function change(path: string, query: URLSearchParams): object[] | null {
  if (path === '/buy') {
    bought = store.buy({
      product: query.get('product') ?? 'prod_example_pro',
      userId: query.get('user'),
    })
    return bought.notification === null ? [] : [bought.notification]
  }
  if (bought === null) return null
  if (path === '/renew') return [bought.renew()]
  if (path === '/cancel') return [bought.cancel()]
  if (path === '/pause') return [bought.pause(PAUSE_DAYS)]
  if (path === '/resume') return [bought.resume()]
  if (path === '/hold') return [bought.hold()]
  return path === '/refund' ? bought.refund() : null
}
