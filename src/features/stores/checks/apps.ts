import { eq } from 'drizzle-orm'
import { MINUTE_MS } from '../../../lib/time/durations.ts'
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
  const seen = new Map<string, number>()
  return { read, markComplete, markNotified }

  async function read(app: StoreApp): Promise<AppState> {
    const id = toAppId(app)
    const [history] = await db.read.select().from(storeHistory).where(eq(storeHistory.id, id))
    const [notified] = await db.read
      .select()
      .from(storeNotifications)
      .where(eq(storeNotifications.id, id))
    const completeUntil = history?.completeUntil ?? null
    return {
      // A time in the future was recorded while the clock was ahead, so how much is complete is unknown.
      completeUntil: completeUntil !== null && completeUntil <= now() ? completeUntil : null,
      lastNotificationAt: notified?.lastAt ?? null,
    }
  }

  /** Records that the log has every notification sent before `completeUntil`. */
  async function markComplete(app: StoreApp, completeUntil: Date) {
    await db.write(async (tx) => {
      await tx
        .insert(storeHistory)
        .values({ id: toAppId(app), completeUntil })
        .onConflictDoUpdate({ target: storeHistory.id, set: { completeUntil } })
    })
  }

  /** Stores the time at most once a minute. */
  async function markNotified(app: StoreApp) {
    const lastAt = now()
    const last = seen.get(toAppId(app)) ?? 0
    if (Math.abs(lastAt.getTime() - last) < MINUTE_MS) return
    seen.set(toAppId(app), lastAt.getTime())
    await db.write(async (tx) => {
      await tx
        .insert(storeNotifications)
        .values({ id: toAppId(app), lastAt })
        .onConflictDoUpdate({ target: storeNotifications.id, set: { lastAt } })
    })
  }
}

function toAppId({ store, bundleId, environment }: StoreApp): string {
  return `${store}|${environment}|${bundleId}`
}
