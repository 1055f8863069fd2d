import type { AppStoreApp } from '../../../../lib/store-settings.ts'
import type { AppStore } from '../apple/app-store.ts'
import type { StoreApps } from './apps.ts'
import type { StoreChecks } from './schedule.ts'

type StoreHealthDeps = {
  apps: AppStoreApp[]
  storeApps: StoreApps
  checks: StoreChecks
  /** Null without a key for Apple's API. */
  appStore: AppStore | null
  now: () => Date
}

/** Metrics of the connection to the App Store: ages in seconds for each app, in production only. */
export function createStoreHealth({ apps, storeApps, checks, appStore, now }: StoreHealthDeps) {
  return { notificationAges, historyLags, isKeyRefused }

  /**
   * Seconds since the last notification of each app. Empty while no check of a production purchase
   * is scheduled.
   */
  async function notificationAges(): Promise<Record<string, number>> {
    if (apps.length === 0 || !(await checks.hasProductionChecks())) return {}
    return agesOf(({ lastNotificationAt }) => lastNotificationAt)
  }

  /** By how many seconds the complete history of each app lags behind. */
  async function historyLags(): Promise<Record<string, number>> {
    return appStore === null ? {} : agesOf(({ completeUntil }) => completeUntil)
  }

  /**
   * Whether Apple refused the key in the last call. Null without a key, and without purchases in
   * production, because Apple refuses the keys of unreleased apps.
   */
  async function isKeyRefused(): Promise<boolean | null> {
    if (appStore === null || !(await checks.hasProductionChecks())) return null
    return appStore.isKeyRefused()
  }

  async function agesOf(timeIn: (state: Awaited<ReturnType<StoreApps['read']>>) => Date | null) {
    const ages: Record<string, number> = {}
    for (const { bundleId } of apps) {
      const time = timeIn(await storeApps.read({ bundleId, environment: 'PRODUCTION' }))
      if (time) ages[bundleId] = Math.round((now().getTime() - time.getTime()) / 1000)
    }
    return ages
  }
}
