import { expect } from 'bun:test'
import { createClock, createTestApp } from '../app.ts'
import { listSubscriptions, submitPurchases } from '../app-store/world.ts'
import { servePlayApi } from './api.ts'
import type { DeveloperNotification, Submission } from './formats.ts'
import { createPlayStore, type FakePurchase } from './play-store.ts'
import type { PushOverrides } from './push.ts'

export const PLAY_PATH = '/api/webhooks/play/v1'

/** A server and a Play Store with its API that share a clock, and a user. */
export async function createPlayWorld(settings: Record<string, string> = {}) {
  const clock = createClock()
  const store = createPlayStore(clock)
  const api = servePlayApi(store, () => clock.now)
  const app = await createTestApp({ ...api.environment, ...settings }, {})
  app.clock.now = new Date('2026-10-01T12:00:00Z')
  Object.defineProperty(clock, 'now', { get: () => app.clock.now })
  const { user, accessToken: token } = await app.register()
  return {
    app,
    store,
    api,
    userId: user._id,
    email: user.email,
    token,
    listSubscriptions: (environment?: 'production' | 'sandbox') =>
      listSubscriptions(app, user._id, environment),
    ask,
    push,
    submit,
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      await api[Symbol.asyncDispose]()
    },
  }

  /** Delivers a notification and returns the whole response. */
  function ask(notification: object, overrides: PushOverrides = {}) {
    const pushed = api.pushOf(notification, overrides)
    return app.ask('POST', PLAY_PATH, pushed)
  }

  /** Delivers a notification and returns the code of the response. A pending purchase has none. */
  async function push(
    notification: DeveloperNotification | null,
    overrides: PushOverrides = {},
  ): Promise<string> {
    if (notification === null) throw new Error('there is no notification about a pending purchase')
    const reply = await ask(notification, overrides)
    expect([reply.status, reply.json.message]).toEqual([200, expect.any(String)])
    return reply.json.code
  }

  /** Submits purchases as the app does; `as` is another user's access token. */
  function submit(purchases: (FakePurchase | Submission)[], takeOver?: boolean, as = token) {
    const submissions = purchases.map((one) => ('submission' in one ? one.submission() : one))
    return submitPurchases(app, as, submissions, takeOver)
  }
}
