import type { AppStoreApp } from '../../../config/subjects/stores.ts'
import type { StoredEnvironment } from '../../billing/environment.ts'
import { AppleApiError } from '../apple/api-error.ts'
import type { AppStore } from '../apple/app-store.ts'
import type { PlayStatus } from '../google/status.ts'
import { APP_STORE_PATH } from '../model.ts'
import type { StripeStatus } from '../stripe/status.ts'
import type { StoreApps } from './apps.ts'
import { checkSet, findProblem, notificationUrl, type StoreCheck } from './store-check.ts'

type StoreStatusDeps = {
  apps: AppStoreApp[]
  storeApps: StoreApps
  /** Null if there is no key for Apple's API. */
  appStore: AppStore | null
  /** The server's public URL; null if it is not set. */
  publicUrl: string | null
  playStatus: PlayStatus
  /** Null if Stripe is not set up. */
  stripeStatus: StripeStatus | null
  now: () => Date
}

const STORE_ENVIRONMENTS: StoredEnvironment[] = ['PRODUCTION', 'SANDBOX']

const TEST_TIMEOUT_MS = 60_000
const TEST_POLL_MS = 2_000

const NO_APPS =
  'Set APP_STORE_APPS to the bundle id and Apple ID of the app, such as com.example.app:1234567890.'
const NO_KEY =
  'Set APP_STORE_ISSUER_ID, APP_STORE_KEY_ID and APP_STORE_KEY_FILE to a key from App Store Connect → Users and Access → Integrations → In-App Purchase. Without it, lost notifications are not found.'

export function createStoreStatus(deps: StoreStatusDeps) {
  const { apps, storeApps, appStore, publicUrl, playStatus, stripeStatus, now } = deps
  const url = notificationUrl(publicUrl, APP_STORE_PATH)
  return { read, check, test }

  /** Each app, with its last notification and the time up to which its history is complete. */
  async function read() {
    const described = []
    for (const { bundleId, appleId } of apps) {
      for (const environment of STORE_ENVIRONMENTS) {
        const state = await storeApps.read({ store: 'app_store', bundleId, environment })
        described.push({
          store: 'app_store' as const,
          bundleId,
          appleId,
          environment: environment.toLowerCase(),
          lastNotificationAt: state.lastNotificationAt?.toISOString() ?? null,
          completeUntil: state.completeUntil?.toISOString() ?? null,
        })
      }
    }
    const play = await playStatus.read()
    const stripe = (await stripeStatus?.read()) ?? null
    return { url, hasApiKey: appStore !== null, apps: described, play, stripe }
  }

  /** Checks the stores that are set up; the App Store and Google Play if none is. */
  async function check(): Promise<StoreCheck[]> {
    const hasPlay = playStatus.isSetUp
    const hasAppStore = apps.length > 0
    const hasNone = !hasPlay && !hasAppStore && stripeStatus === null
    return [
      ...(hasAppStore || hasNone ? await checkAppStore() : []),
      ...(hasPlay || hasNone ? await playStatus.check() : []),
      ...((await stripeStatus?.check()) ?? []),
    ]
  }

  /** Checks the settings, and that Apple accepts the key. */
  async function checkAppStore(): Promise<StoreCheck[]> {
    const settings = [
      { what: 'Apps', fault: apps.length === 0 ? NO_APPS : null },
      checkSet('Notification URL', url),
      { what: 'API key', fault: appStore === null ? NO_KEY : null },
    ]
    if (appStore === null) return settings
    const accepted = []
    for (const app of apps) {
      for (const environment of STORE_ENVIRONMENTS) {
        const what = `${app.bundleId} in ${environment.toLowerCase()}`
        accepted.push({ what, fault: await findProblem(() => appStore.check(app, environment)) })
      }
    }
    return [...settings, ...accepted]
  }

  /** Makes Apple send a test notification to each app, and waits for the results. */
  async function test(environment: StoredEnvironment): Promise<StoreCheck[]> {
    if (apps.length === 0) return [{ what: 'Apps', fault: NO_APPS }]
    if (appStore === null) return [{ what: 'API key', fault: NO_KEY }]
    const results = []
    for (const app of apps) {
      const what = `${app.bundleId} in ${environment.toLowerCase()}`
      results.push({ what, fault: await findProblem(() => sendTest(app, environment, appStore)) })
    }
    return results
  }

  async function sendTest(app: AppStoreApp, environment: StoredEnvironment, store: AppStore) {
    const token = await store.sendTest(app, environment).catch((error) => {
      throw explainError(error)
    })
    for (const end = now().getTime() + TEST_TIMEOUT_MS; ; ) {
      const result = await store.readTest(app, environment, token)
      if (result === 'SUCCESS') return
      if (result !== null) throw new Error(`Apple could not deliver the notification: ${result}.`)
      if (now().getTime() > end)
        throw new Error('Apple did not send the notification within a minute.')
      await Bun.sleep(TEST_POLL_MS)
    }
  }
}

function explainError(error: unknown): unknown {
  const hasNoUrl = error instanceof AppleApiError && error.code === 4040007
  return hasNoUrl
    ? new Error('App Store Connect has no notification URL: enter the one above.')
    : error
}
