import { expect } from 'bun:test'
import { createClock, createTestApp, PASSWORD, type TestApp } from '../app.ts'
import { serveAppStoreApi } from './api.ts'
import { type AppStore, createAppStore } from './app-store.ts'

export const PATH = '/api/webhooks/app-store/v1'
export const PURCHASES_PATH = '/api/user/purchases/v1'

export type Notification = { body: { signedPayload: string } }

/** A server and an App Store that share a clock, and a user; `existingStore` is the store of another world. */
export async function createWorld(
  existingStore?: AppStore,
  at = new Date('2026-10-01T12:00:00Z'),
  settings: Record<string, string> = {},
) {
  const clock = createClock()
  clock.now = at
  const store = existingStore ?? (await createAppStore(clock))
  const app = await createTestApp({ ...store.environment, ...settings }, {})
  app.clock.now = at
  // The store and the server share a clock.
  if (existingStore === undefined) Object.defineProperty(clock, 'now', { get: () => app.clock.now })
  const { user, accessToken: token } = await app.register()
  return {
    app,
    store,
    userId: user._id,
    email: user.email,
    token,
    listSubscriptions: (environment?: 'production' | 'sandbox') =>
      listSubscriptions(app, user._id, environment),
    [Symbol.asyncDispose]: app[Symbol.asyncDispose],
  }
}

/** A user's subscriptions, and whether each gives access now. */
export async function listSubscriptions(
  app: TestApp,
  userId: string,
  environment: 'production' | 'sandbox' = 'production',
) {
  const { subscriptions } = await app.services.subscription.readForExport(userId, environment)
  const now = app.clock.now.getTime()
  return subscriptions.map((subscription) => ({
    ...subscription,
    active: subscription.effectiveEndAt === null || Date.parse(subscription.effectiveEndAt) > now,
  }))
}

/** Delivers a notification and returns the code of the response. */
export async function deliver(app: TestApp, { body }: Notification): Promise<string> {
  const reply = await app.ask('POST', PATH, { json: body })
  expect([reply.status, reply.json.message]).toEqual([200, expect.any(String)])
  return reply.json.code
}

/** A world whose server has a key for the App Store's API. `checkDue` makes the checks that are due. */
export async function createWorldWithApi(settings: Record<string, string> = {}) {
  const clock = createClock()
  const store = await createAppStore(clock)
  const api = serveAppStoreApi(store, () => clock.now)
  const at = new Date('2026-10-01T12:00:00Z')
  const world = await createWorld(store, at, { ...api.environment, ...settings })
  Object.defineProperty(clock, 'now', { get: () => world.app.clock.now })
  const { overdue } = world.app.services.stores
  return {
    ...world,
    api,
    checkDue: async () => overdue?.queue.flush(),
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]()
      await api[Symbol.asyncDispose]()
    },
  }
}

type Reply = {
  results: { outcome: string; code?: string; canTakeOverAt?: string | null }[]
  subscription: { entitlements: object[]; subscriptions: object[] }
}

/** Signs in again, because access tokens do not last a day. */
export async function signIn(app: TestApp, email: string): Promise<string> {
  const json = { email, password: PASSWORD }
  return (await app.ask('POST', '/api/auth/login/v1', { json })).json.response.accessToken
}

export async function submit(app: TestApp, token: string, signed: string[], takeOver?: boolean) {
  const purchases = signed.map((signedTransaction) => ({ store: 'app_store', signedTransaction }))
  return submitPurchases(app, token, purchases, takeOver)
}

/** Submits purchases of any store, and returns the response. */
export async function submitPurchases(
  app: TestApp,
  token: string,
  purchases: object[],
  takeOver?: boolean,
) {
  const json = { purchases, ...(takeOver === undefined ? {} : { takeOver }) }
  const reply = await app.ask('POST', PURCHASES_PATH, { token, json })
  expect([reply.status, reply.json]).toEqual([200, expect.any(Object)])
  return reply.json.response as Reply
}
