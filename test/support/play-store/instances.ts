import { expect } from 'bun:test'
import { createClock, type TestApp } from '../app.ts'
import { listSubscriptions } from '../app-store/world.ts'
import { createTestInstances } from '../instances.ts'
import { servePlayApi } from './api.ts'
import type { DeveloperNotification } from './formats.ts'
import { createPlayStore, type FakePurchase } from './play-store.ts'
import { PLAY_PATH } from './world.ts'

type PlayInstances = Awaited<ReturnType<typeof createPlayInstances>>

/** Two instances and a Play Store with its API that share a clock. */
export async function createPlayInstances(options: { requestsPerSecond?: number } = {}) {
  await using stack = new AsyncDisposableStack()
  const storeClock = createClock()
  const store = createPlayStore(storeClock)
  const api = stack.use(servePlayApi(store, () => storeClock.now))
  const instances = stack.use(await createTestInstances(api.environment, options))
  const { here, there, clock } = instances
  Object.defineProperty(storeClock, 'now', { get: () => clock.now })
  const moved = stack.move()
  return { here, there, clock, store, api, [Symbol.asyncDispose]: () => moved.disposeAsync() }
}

export function playOf({ services }: TestApp) {
  const { play } = services.stores
  if (play === null) throw new Error('Google Play is not set up')
  return play
}

export function drain(app: TestApp) {
  return playOf(app).queue.flush()
}

/** Makes purchases due, without a request that starts the queue. */
export async function enqueue(app: TestApp, purchases: FakePurchase[]) {
  const play = playOf(app)
  await app.services.db.write(async (tx) => {
    for (const purchase of purchases) {
      const { packageName, purchaseToken } = purchase.submission()
      const known = { packageName, purchaseToken, kind: purchase.kind, productId: null }
      await play.purchases.enqueue(tx, known, 1)
    }
  })
}

export async function push(
  { api }: Pick<PlayInstances, 'api'>,
  app: TestApp,
  notification: DeveloperNotification | null,
) {
  const reply = await app.ask('POST', PLAY_PATH, api.pushOf(notification ?? {}))
  expect([reply.status, reply.json.message]).toEqual([200, expect.any(String)])
}

type PurchaseRequests = { request: string; token: string }[]

/** How often each request was made, by purchase token. */
export function countRequests(requests: PurchaseRequests): Record<string, Record<string, number>> {
  const counts: Record<string, Record<string, number>> = {}
  for (const { request, token } of requests) {
    const before = counts[token] ?? {}
    counts[token] = { ...before, [request]: (before[request] ?? 0) + 1 }
  }
  return counts
}

export function countsOf(purchases: FakePurchase[], counts: Record<string, number>) {
  return Object.fromEntries(purchases.map(({ token }) => [token, counts]))
}

export async function statusesOf(app: TestApp, userId: string) {
  return (await listSubscriptions(app, userId)).map(({ status }) => status)
}

export async function checkRebuild({ services }: TestApp) {
  const { changed } = await services.rebuildBilling(AbortSignal.timeout(20_000))
  expect(changed).toEqual([])
}
