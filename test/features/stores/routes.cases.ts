import { createClock } from '../../support/app.ts'
import { createAppStore } from '../../support/app-store/app-store.ts'
import { FAKE_APP } from '../../support/app-store/subscription.ts'
import { servePlayApi } from '../../support/play-store/api.ts'
import { createPlayStore } from '../../support/play-store/play-store.ts'
import type { RouteCase } from '../../support/route-case.ts'

const clock = createClock()
const store = await createAppStore(clock)
const playStore = createPlayStore(clock)
const playApi = servePlayApi(playStore, () => clock.now)
const push = (overrides = {}) => playApi.pushOf({ testNotification: { version: '1.0' } }, overrides)
const DATA = { environment: 'Sandbox', bundleId: FAKE_APP.bundleId }

/** The environment variables that these routes need. */
export const environment = { ...store.environment, ...playApi.environment }

export const routes: RouteCase[] = [
  {
    method: 'POST',
    path: '/api/webhooks/app-store/v1',
    access: 'public',
    good: {},
    prepare: async () => ({ json: store.notification('TEST', undefined, { data: DATA }).body }),
    bad: { json: {}, status: 400 },
    oversize: { json: { signedPayload: 'x'.repeat(300_000) } },
  },
  {
    method: 'POST',
    path: '/api/webhooks/play/v1',
    access: 'webhook',
    good: {},
    prepare: async () => push(),
    bad: { ...push({ isUnwrapped: true }), status: 400 },
    oversize: { ...push(), json: { message: { messageId: '1', data: 'x'.repeat(300_000) } } },
  },
  {
    method: 'POST',
    path: '/api/user/purchases/v1',
    access: 'user',
    good: { json: { purchases: [{ store: 'app_store', signedTransaction: 'text' }] } },
    bad: { json: { purchases: [] }, status: 422 },
    oversize: { json: { purchases: [], fill: 'x'.repeat(300_000) } },
  },
]
