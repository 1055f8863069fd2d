import { createStoreChecks } from '../../src/features/stores/checks/schedule.ts'
import type { Services } from '../../src/server/services.ts'
import { createTestApp, type TestApp } from './app.ts'
import { createWorldWithApi, deliver } from './app-store/world.ts'
import { createGate } from './gate.ts'
import { createPlayWorld } from './play-store/world.ts'
import { startReceiver } from './receiver.ts'
import { openInstances } from './shared-database.ts'

type TestedQueue = {
  wake: () => void
  flush: () => Promise<void>
  repair: () => Promise<void>
  stop: (graceMs: number) => Promise<void>
}

/** A queue on two instances that share a database, and the other side that its attempts reach. */
type QueueWorld = {
  app: Pick<TestApp, 'clock' | 'expectErrors'>
  here: TestedQueue
  there: TestedQueue
  /** Attempts wait while it is closed. */
  gate: ReturnType<typeof createGate>
  /** Adds an item for each key, in one change, and returns their names. They are due. */
  add: (keys: string[]) => Promise<string[]>
  /** The names of the items that were attempted, in order. */
  attempts: () => string[]
  /** Lets the next attempt fail. */
  failNext: () => void
  /** Changes an item, as an operator or a notification does. */
  change: (name: string) => Promise<unknown>
  [Symbol.asyncDispose]: () => Promise<void>
}

const MINUTE = 60_000

/** `hasKeys`: whether items with one key leave slots to those with another. */
export const CONSUMERS = [
  { name: 'outbox', open: openOutbox, leaseMs: 2 * MINUTE, slots: 4, hasKeys: true },
  { name: 'webhooks', open: openWebhooks, leaseMs: MINUTE / 2, slots: 8, hasKeys: true },
  { name: 'Google purchases', open: openPlay, leaseMs: MINUTE, slots: 20, hasKeys: false },
  { name: 'App Store checks', open: openAppStore, leaseMs: 5 * MINUTE, slots: 1, hasKeys: false },
]

async function openOutbox(): Promise<QueueWorld> {
  const app = await createTestApp()
  const [here, there] = await openInstances(app)
  const gate = createGate()
  const attempts: string[] = []
  let failures = 0
  for (const { outbox } of [here, there]) {
    outbox.deliverWith(async (message, signal) => {
      attempts.push((message as unknown as { name: string }).name)
      await gate.pass(signal)
      if (failures-- > 0) throw new Error('the relay is down')
      failures = 0
    })
  }
  return {
    app,
    here: here.outbox,
    there: there.outbox,
    gate,
    add: (sources) =>
      here.db.write(async (tx) => {
        const names = sources.map(() => crypto.randomUUID())
        for (const [at, name] of names.entries()) {
          const handling = { priority: 1, userId: null, source: sources[at] ?? null }
          await here.outbox.add(tx, { kind: 'test', name } as never, handling)
        }
        return names
      }),
    attempts: () => attempts,
    failNext: () => void failures++,
    // Nobody changes a message: it is made due again as `retryNow` does, and its next attempt counts.
    change: async () => {
      const { outbox } = here.db.tables
      failures++
      await here.db.write(
        async (tx) => void (await tx.update(outbox).set({ dueAt: app.clock.now })),
      )
    },
    [Symbol.asyncDispose]: app[Symbol.asyncDispose],
  }
}

async function openWebhooks(): Promise<QueueWorld> {
  const gate = createGate()
  let failures = 0
  const receiver = startReceiver(async () => {
    await gate.held()
    return new Response(null, { status: failures-- > 0 ? 500 : 204 })
  })
  const app = await createTestApp({ WEBHOOKS_ALLOW_PRIVATE: 'on' })
  const [here, there] = await openInstances(app)
  const types = { one: 'user.created', other: 'user.updated' } as const
  for (const type of Object.values(types))
    await here.webhooks.endpoints.add({ url: receiver.url, events: [type] })
  return {
    app,
    here: here.webhooks,
    there: there.webhooks,
    gate,
    add: (keys) =>
      here.db.write(async (tx) => {
        const names = keys.map(() => crypto.randomUUID())
        for (const [at, userId] of names.entries()) {
          const type = types[keys[at] as keyof typeof types]
          await here.webhooks.emit(tx, { type, userId, data: { userId, user: {} } })
        }
        return names
      }),
    attempts: () => receiver.received.map(({ body }) => JSON.parse(body).data.userId),
    failNext: () => {
      failures = 1
    },
    change: async () => {
      const { deliveries } = await here.webhooks.deliveries.list({})
      for (const { id } of deliveries) await here.webhooks.deliveries.resend(id)
    },
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      receiver[Symbol.dispose]()
    },
  }
}

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
      api.asked.flatMap(({ request, token }) => (request.startsWith('GET') ? token : [])),
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

function playOf({ stores }: Services) {
  if (stores.play === null) throw new Error('Google Play is not set up')
  return stores.play
}

function checksOf({ stores }: Services) {
  if (stores.overdue === null) throw new Error("there is no key for Apple's API")
  return stores.overdue.queue
}
