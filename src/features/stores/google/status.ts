import { playApp, type StoreApps } from '../checks/apps.ts'
import { checkSet, findProblem, notificationUrl, type StoreCheck } from '../checks/store-check.ts'
import { PLAY_PATH } from '../model.ts'
import { PlayApiError } from './api/api-error.ts'
import type { Play } from './play.ts'

type PlayStatusDeps = {
  play: Play | null
  storeApps: StoreApps
  publicUrl: string | null
  now: () => Date
}

export type PlayStatus = ReturnType<typeof createPlayStatus>

const NOT_SET_UP =
  'Set PLAY_PACKAGES to the package name of the app, such as com.example.app, and PLAY_SERVICE_ACCOUNT_FILE to the JSON key of a service account.'
const NO_PUSH =
  'Set PLAY_PUSH_ACCOUNT to the service account with which the Pub/Sub subscription authenticates. Without it, a cancellation may go unnoticed for a week.'
const NO_AUDIENCE =
  'Set BASE_URL to the public address of this server, beginning with https://, or PLAY_PUSH_AUDIENCE to the audience of the Pub/Sub subscription.'
const NOT_LINKED =
  'Google has no record of this package in the developer account that invited the service account. Check the package name, and upload a version of the app to a test track.'
const NO_FINANCIAL_DATA =
  'Google refuses to list refunds. Give the service account "View financial data" in Play Console → Users and permissions; it takes 24 to 48 hours to work.'
const NO_PUSH_YET =
  'No notification has arrived. In Play Console → Monetization setup, enter the topic and send a test notification. If it does not arrive: google-play-developer-notifications@system.gserviceaccount.com needs the role Pub/Sub Publisher on the topic, and the push subscription needs the URL and the audience above.'

/** No purchase has this token, so the error shows whether the service account has access. */
const PROBE_TOKEN = 'homeport-checks-its-permissions'

export function createPlayStatus({ play, storeApps, publicUrl, now }: PlayStatusDeps) {
  const url = notificationUrl(publicUrl, PLAY_PATH)
  return { isSetUp: play !== null, read, check }

  /** Null if Google Play is not set up. Times are ISO 8601. */
  async function read() {
    if (play === null) return null
    const packages = []
    for (const packageName of play.packages) {
      const { lastNotificationAt, completeUntil } = await readApp(packageName)
      packages.push({
        packageName,
        lastNotificationAt: lastNotificationAt?.toISOString() ?? null,
        refundsReadUntil: completeUntil?.toISOString() ?? null,
      })
    }
    const oldest = await play.purchases.oldestUnacknowledged()
    return {
      url,
      audience: play.audience,
      packages,
      waiting: await play.purchases.countDue(),
      oldestUnacknowledgedAt: oldest?.toISOString() ?? null,
    }
  }

  /** Checks each step of the setup in Google Cloud and the Play Console. */
  async function check(): Promise<StoreCheck[]> {
    if (play === null) return [{ what: 'Google Play', fault: NOT_SET_UP }]
    const checks: StoreCheck[] = []
    for (const packageName of play.packages) {
      const accountFault = await findProblem(() => probe(packageName))
      checks.push({ what: `${packageName}: service account`, fault: accountFault })
      if (accountFault !== null) continue
      const refundFault = await findProblem(() => play.store.checkRefunds(packageName, now()))
      checks.push({
        what: `${packageName}: refunds`,
        fault: refundFault === null ? null : NO_FINANCIAL_DATA,
      })
    }
    const { audience, pushAccount, lastRefusal } = play
    checks.push(
      checkSet('Push URL', url, NO_AUDIENCE),
      checkSet('Push audience', audience, NO_AUDIENCE),
      checkSet('Push account', pushAccount, NO_PUSH),
    )
    for (const packageName of play.packages) {
      const { lastNotificationAt } = await readApp(packageName)
      const refusal = lastRefusal()
      const missing = refusal === null ? NO_PUSH_YET : `Pushes arrive but are refused: ${refusal}`
      checks.push({
        what: `${packageName}: notifications`,
        fault: lastNotificationAt === null ? missing : null,
      })
    }
    return checks
  }

  async function probe(packageName: string) {
    const purchase = { packageName, purchaseToken: PROBE_TOKEN, productId: null }
    try {
      await play?.store.read({ ...purchase, kind: 'subscription' })
    } catch (error) {
      if (!(error instanceof PlayApiError) || error.reason !== 'unknown') throw error
      if (/package|application/i.test(error.message)) throw new Error(NOT_LINKED)
    }
  }

  function readApp(packageName: string) {
    return storeApps.read(playApp(packageName))
  }
}
