import type { AppStoreApp } from '../../../config/subjects/stores.ts'
import type { AppStore } from '../apple/app-store.ts'
import type { Play } from '../google/play.ts'
import { playApp, type StoreApp, type StoreApps } from './apps.ts'
import type { StoreChecks } from './schedule.ts'

type StoreHealthDeps = {
  apps: AppStoreApp[]
  storeApps: StoreApps
  checks: StoreChecks
  /** Null if there is no key for Apple's API. */
  appStore: AppStore | null
  /** Null if Google Play is not set up. */
  play: Play | null
  now: () => Date
}

/** Ages are in seconds for each app, in production only. */
export function createStoreHealth(deps: StoreHealthDeps) {
  const { apps, storeApps, checks, appStore, play, now } = deps
  return {
    notificationAges,
    historyLags,
    isKeyRefused,
    playNotificationAges,
    unacknowledgedAge,
  }

  /** Empty while no check of a production purchase is scheduled. */
  async function notificationAges(): Promise<Record<string, number>> {
    if (apps.length === 0 || !(await checks.hasProductionChecks())) return {}
    return computeAges(apps.map(appStoreApp), 'lastNotificationAt')
  }

  /** How many seconds each app's complete history lags behind. */
  async function historyLags(): Promise<Record<string, number>> {
    return appStore === null ? {} : computeAges(apps.map(appStoreApp), 'completeUntil')
  }

  /** As of the last call. Null if there is no key or no production purchase: Apple refuses the keys of unreleased apps. */
  async function isKeyRefused(): Promise<boolean | null> {
    if (appStore === null || !(await checks.hasProductionChecks())) return null
    return appStore.isKeyRefused()
  }

  function playNotificationAges(): Promise<Record<string, number>> {
    return computeAges((play?.packages ?? []).map(playApp), 'lastNotificationAt')
  }

  /** In seconds; 0 if there is none, null if Google Play is not set up. */
  async function unacknowledgedAge(): Promise<number | null> {
    if (play === null) return null
    const oldest = await play.purchases.oldestUnacknowledged()
    return oldest === null ? 0 : secondsSince(oldest)
  }

  function secondsSince(time: Date): number {
    return Math.round((now().getTime() - time.getTime()) / 1000)
  }

  async function computeAges(among: StoreApp[], name: 'completeUntil' | 'lastNotificationAt') {
    const ages: Record<string, number> = {}
    for (const app of among) {
      const { [name]: time } = await storeApps.read(app)
      if (time) ages[app.bundleId] = secondsSince(time)
    }
    return ages
  }
}

function appStoreApp({ bundleId }: AppStoreApp): StoreApp {
  return { store: 'app_store', bundleId, environment: 'PRODUCTION' }
}
