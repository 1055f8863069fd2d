import { MINUTE_MS } from '../../../lib/time/durations.ts'
import { prepareFind, prepareUpsert } from '../../../platform/db/prepared.ts'
import type { StoredEnvironment } from '../../billing/environment.ts'
import type { StoresDb } from '../schema.ts'

export type StoreApp = {
  store: 'app_store' | 'play_store' | 'stripe'
  bundleId: string
  environment: StoredEnvironment
}

/** An app on Google Play, whose notifications name no environment. */
export function playApp(packageName: string): StoreApp {
  return { store: 'play_store', bundleId: packageName, environment: 'PRODUCTION' }
}

type AppState = { completeUntil: Date | null; lastNotificationAt: Date | null }

export type StoreApps = ReturnType<typeof createStoreApps>

export function createStoreApps({ db, now }: { db: StoresDb; now: () => Date }) {
  const { storeHistory, storeNotifications } = db.tables
  const findComplete = prepareFind(db, storeHistory)
  const storeComplete = prepareUpsert(db, storeHistory)
  const findNotified = prepareFind(db, storeNotifications)
  const storeNotified = prepareUpsert(db, storeNotifications)
  const seen = new Map<string, number>()
  return { read, markComplete, markNotified }

  async function read(app: StoreApp): Promise<AppState> {
    const id = toAppId(app)
    const history = await findComplete(db.read, { id })
    const notified = await findNotified(db.read, { id })
    const completeUntil = history?.completeUntil ?? null
    return {
      // A time in the future was recorded while the clock was ahead, so how much is complete is unknown.
      completeUntil: completeUntil !== null && completeUntil <= now() ? completeUntil : null,
      lastNotificationAt: notified?.lastAt ?? null,
    }
  }

  /** Records that the log has every notification sent before `completeUntil`. */
  async function markComplete(app: StoreApp, completeUntil: Date) {
    await db.write((tx) => storeComplete(tx, { id: toAppId(app), completeUntil }))
  }

  /** Stores the time at most once a minute. */
  async function markNotified(app: StoreApp) {
    const lastAt = now()
    const last = seen.get(toAppId(app)) ?? 0
    if (Math.abs(lastAt.getTime() - last) < MINUTE_MS) return
    seen.set(toAppId(app), lastAt.getTime())
    await db.write((tx) => storeNotified(tx, { id: toAppId(app), lastAt }))
  }
}

function toAppId({ store, bundleId, environment }: StoreApp): string {
  return `${store}|${environment}|${bundleId}`
}
