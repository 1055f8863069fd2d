import type { Tx } from '../../../platform/db/db.ts'
import { playApp } from '../checks/apps.ts'
import { PLAY_PATH } from '../model.ts'
import { createPlayApi, PLAY_API_URL, PLAY_TOKEN_URL } from './api/api.ts'
import { createPlayStore } from './api/play-store.ts'
import type { PlayContext } from './context.ts'
import type { Push } from './push/notification.ts'
import { createPushTokenCheck, GOOGLE_JWKS_URL } from './push/token.ts'
import { createPlayPurchases, hashToken, URGENCY } from './refresh/purchases.ts'
import { createPlayQueue } from './refresh/queue.ts'
import { createPurchaseRefresh } from './refresh/refresh.ts'
import { createPlaySubmissions } from './submissions.ts'
import { createVoided } from './voided.ts'

export type Play = NonNullable<ReturnType<typeof createPlay>>

/** Null if Google Play is not set up. */
export function createPlay(deps: Omit<PlayContext, 'play' | 'purchases'>) {
  const { settings, publicUrl, storeApps, now } = deps
  const { playPackages: packages, playAccount: account } = settings
  if (account === null) return null
  const play = createPlayStore(
    createPlayApi({
      account,
      url: settings.playApiUrl ?? PLAY_API_URL,
      tokenUrl: settings.playTokenUrl ?? PLAY_TOKEN_URL,
      now,
    }),
  )
  const purchases = createPlayPurchases(deps)
  const context: PlayContext = { ...deps, play, purchases }
  const refresh = createPurchaseRefresh(context)
  const queue = createPlayQueue({ ...context, refresh })
  const voided = createVoided(context)
  const audience = settings.playPushAudience ?? (publicUrl && publicUrl + PLAY_PATH)
  const pushAccount = settings.playPushAccount
  const pushToken =
    pushAccount === null || audience === null
      ? null
      : createPushTokenCheck({
          jwksUrl: settings.playJwksUrl ?? GOOGLE_JWKS_URL,
          account: pushAccount,
          audience,
          now,
        })
  return {
    packages,
    store: play,
    audience,
    purchases,
    queue,
    voided,
    submit: createPlaySubmissions({ ...context, queue }),
    pushAccount,
    /** Null if `PLAY_PUSH_ACCOUNT` or the audience is not set. */
    checkPushToken: pushToken?.check ?? null,
    lastRefusal: () => pushToken?.lastRefusal() ?? null,
    isOurs,
    apply,
    markNotified,
  }

  /** Whether a push is about one of the apps. An unreadable push counts too, so that operators can see it. */
  function isOurs({ subscription, packageName }: Push): boolean {
    const { playPushSubscription: expected } = settings
    if (expected !== null && subscription !== expected) return false
    return packageName === null || packages.includes(packageName)
  }

  /** Queues the purchase, and records a refund. */
  async function apply(tx: Tx, { packageName, changed, voided: order }: Push) {
    if (packageName === null || changed === null) return
    const known = await purchases.find(tx, hashToken(changed.purchaseToken))
    const isWaiting = known === null || known.unacknowledgedSince !== null
    const urgency = isWaiting ? URGENCY.waiting : URGENCY.changed
    // Until Google has responded, a notification is more reliable than what the app submitted.
    const isConfirmed = known !== null && known.items.length > 0
    const purchase = isConfirmed
      ? { ...known, purchaseToken: changed.purchaseToken }
      : { packageName, ...changed }
    await purchases.enqueue(tx, purchase, urgency)
    if (known && order) await voided.record(tx, known, order)
  }

  async function markNotified({ packageName }: Push) {
    if (packageName === null) return
    await storeApps.markNotified(playApp(packageName))
  }
}
