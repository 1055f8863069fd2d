import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { startStripe } from './stripe.ts'
import type { FakeSubscription } from './subscription.ts'

/**
 * `bun run stripe`: a fake Stripe to try Homeport with. It writes the settings for the server into `stripe.env` and
 * answers on STRIPE_PORT (4922): its API, the pages of Checkout and of the portal, and `POST /renew`, `/fail`, `/replace-card`,
 * `/cancel`, `/undo`, `/refund`, `/dispute`, `/pause`, `/resume`, `/settle-debit` and `/fail-debit`, about the newest
 * subscription or `?subscription=<id>`. `/renew` and `/fail` move its clock ahead. Events go to the server within a
 * second.
 */
const PORT = Number(process.env['STRIPE_PORT'] ?? 4922)
const SERVER = process.env['HOMEPORT_URL'] ?? 'http://localhost:3000'
const DELIVERY_MS = 1_000

let aheadMs = 0
const clock = {
  get now() {
    return new Date(Date.now() + aheadMs)
  },
  advance(ms: number) {
    aheadMs += ms
  },
}
const fake = startStripe({
  clock,
  port: PORT,
  webhookUrl: `${SERVER}/api/webhooks/stripe/v1`,
  respond: control,
  // Other ids at each start, because the server remembers the former ones.
  seed: Date.now(),
})
// The server does not know that this clock may be ahead.
fake.webhooks.time = () => Math.floor(Date.now() / 1000)
for (const [id, isLive] of [
  ['price_example_pro', true],
  ['price_example_pro_test', false],
] as const) {
  fake.createPrice({ id, nickname: 'Pro' }, isLive)
}
const file = resolve('stripe.env')
const settings = Object.entries({ ...fake.environment, CHECKOUT_ORIGINS: SERVER })
writeFileSync(file, settings.map(([name, value]) => `${name}=${value}\n`).join(''), { mode: 0o600 })
setInterval(deliver, DELIVERY_MS)
console.log(`The settings are in ${file}. Events go to ${SERVER}/api/webhooks/stripe/v1.`)
console.log('It sells price_example_pro, and price_example_pro_test in the sandbox.')

async function deliver() {
  for (const { event, status } of await fake.deliver()) {
    console.log(`${event.type}: the server answered ${status}`)
  }
}

function control(request: Request): Response {
  const { pathname, searchParams } = new URL(request.url)
  if (request.method !== 'POST') return new Response('POST only\n', { status: 405 })
  const subscription = find(searchParams.get('subscription'))
  const act = subscription && actionsOf(subscription)[pathname]
  if (!act) return new Response('Buy first, or unknown action\n', { status: 404 })
  try {
    act()
    return new Response(`${subscription.id} is ${subscription.status()}\n`)
  } catch (error) {
    return new Response(`${(error as Error).message}\n`, { status: 409 })
  }
}

function find(id: string | null): FakeSubscription | null {
  const newest = fake.events.all.findLast(({ type }) => type === 'customer.subscription.created')
  const found = id ?? newest?.data.object.id
  return found === undefined ? null : fake.subscription(found)
}

function actionsOf(subscription: FakeSubscription): Record<string, () => unknown> {
  return {
    '/renew': subscription.renew,
    '/fail': subscription.failToRenew,
    '/replace-card': () => subscription.replaceCard(),
    '/cancel': () => subscription.cancelAt(),
    '/undo': subscription.undoCancel,
    '/refund': subscription.refund,
    '/dispute': subscription.dispute,
    '/pause': subscription.pause,
    '/resume': subscription.resume,
    '/settle-debit': subscription.settleDebit,
    '/fail-debit': subscription.failDebit,
  }
}
