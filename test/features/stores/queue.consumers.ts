import { createStoreChecks } from '../../../src/features/stores/checks/schedule.ts'
import type { Services } from '../../../src/server/services.ts'
import { createWorldWithApi, deliver } from '../../support/app-store/world.ts'
import { createGate } from '../../support/gate.ts'
import { createPlayWorld } from '../../support/play-store/world.ts'
import type { Consumer, QueueWorld } from '../../support/queues.ts'
import { openInstances } from '../../support/shared-database.ts'
import { createStripeWorld } from '../../support/stripe/world.ts'

const MINUTE = 60_000

export const consumers: Consumer[] = [
  { name: 'Google purchases', open: openPlay, leaseMs: MINUTE, slots: 20, hasKeys: false },
  { name: 'App Store checks', open: openAppStore, leaseMs: 5 * MINUTE, slots: 1, hasKeys: false },
  { name: 'Stripe objects', open: openStripe, leaseMs: MINUTE, slots: 10, hasKeys: false },
]

async function openPlay(): Promise<QueueWorld> {
  const world = await createPlayWorld()
  const { app, api, store, userId } = world
  const [here, there] = await openInstances(app)
  const gate = createGate()
  Object.defineProperty(api, 'held', { get: gate.held })
  const enqueue = (bought: (typeof store.purchases)[number][]) =>
    here.db.write(async (tx) => {
      for (const one of bought) {
        const { packageName, purchaseToken } = one.submission()
        const purchase = { packageName, purchaseToken, kind: one.kind, productId: null }
        await playOf(here).purchases.enqueue(tx, purchase, 1)
      }
    })
  return {
    app,
    here: playOf(here).queue,
    there: playOf(there).queue,
    gate,
    async add(keys) {
      const bought = keys.map(() => store.buy({ userId }))
      await enqueue(bought)
      return bought.map(({ token }) => token)
    },
    attempts: () =>
      api.purchaseRequests.flatMap(({ request, token }) =>
        request.startsWith('GET') ? token : [],
      ),
    failNext: () => void api.faults.push({ status: 422, reason: 'invalid' }),
    change: (name) => enqueue(store.purchases.filter(({ token }) => token === name)),
    [Symbol.asyncDispose]: world[Symbol.asyncDispose],
  }
}

async function openAppStore(): Promise<QueueWorld> {
  const world = await createWorldWithApi()
  const { app, api, store, userId } = world
  const [here, there] = await openInstances(app)
  const gate = createGate()
  Object.defineProperty(api.outage, 'held', { get: gate.held })
  const { scheduleClaimCheck } = createStoreChecks({ db: here.db, now: () => app.clock.now })
  const schedule = (ids: string[]) =>
    here.db.write(async (tx) => {
      for (const id of ids) await scheduleClaimCheck(tx, `PRODUCTION|${id}`, app.clock.now)
    })
  return {
    app,
    here: checksOf(here),
    there: checksOf(there),
    gate,
    async add(keys) {
      const ids: string[] = []
      for (const _ of keys) {
        const bought = store.buy({ userId })
        await deliver(app, bought.notification)
        ids.push(bought.originalTransactionId)
      }
      await schedule(ids)
      return ids
    },
    attempts: () =>
      api.requests.flatMap((request) => /^GET .*\/subscriptions\/(.+)$/.exec(request)?.[1] ?? []),
    failNext: () => void api.faults.push({ status: 503 }),
    change: (name) => schedule([name]),
    [Symbol.asyncDispose]: world[Symbol.asyncDispose],
  }
}

async function openStripe(): Promise<QueueWorld> {
  const world = await createStripeWorld()
  const { app, stripe } = world
  const [here, there] = await openInstances(app)
  const gate = createGate()
  Object.defineProperty(stripe.api, 'held', { get: gate.held })
  async function enqueue(ids: string[]) {
    await here.db.write(async (tx) => {
      for (const id of ids) await stripeOf(here).objects.enqueue(tx, 'PRODUCTION', { id })
    })
    // The events of one purchase share a request.
    app.clock.advance(2_000)
  }
  return {
    app,
    here: stripeOf(here).queue,
    there: stripeOf(there).queue,
    gate,
    async add(keys) {
      const ids = keys.map(() => stripe.subscribe().id)
      await enqueue(ids)
      return ids
    },
    attempts: () =>
      stripe.api.requests.flatMap(
        ({ request }) => /^GET \/v1\/subscriptions\/(.+)$/.exec(request)?.[1] ?? [],
      ),
    failNext: () => void stripe.api.faults.push({ kind: 'error', status: 400 }),
    change: (name) => enqueue([name]),
    [Symbol.asyncDispose]: world[Symbol.asyncDispose],
  }
}

function playOf({ stores }: Services) {
  if (stores.play === null) throw new Error('Google Play is not set up')
  return stores.play
}

function stripeOf({ stores }: Services) {
  if (stores.stripe === null) throw new Error('Stripe is not set up')
  return stores.stripe
}

function checksOf({ stores }: Services) {
  if (stores.overdue === null) throw new Error("there is no key for Apple's API")
  return stores.overdue.queue
}
