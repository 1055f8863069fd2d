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

/** The connection to the App Store in numbers, for monitoring. By app: ages in seconds, production only. */
export function createStoreHealth({ apps, storeApps, checks, appStore, now }: StoreHealthDeps) {
  return { notificationAges, historyLags, isKeyRefused }

  /** Seconds since the last notification of each app. Empty while no purchase has a period that will end. */
  async function notificationAges(): Promise<Record<string, number>> {
    if (apps.length === 0 || !(await checks.hasProduction())) return {}
    return agesOf(({ lastNotificationAt }) => lastNotificationAt)
  }

  /** Seconds since the end of each app's complete history. */
  async function historyLags(): Promise<Record<string, number>> {
    return appStore === null ? {} : agesOf(({ completeUntil }) => completeUntil)
  }

  /** Whether Apple refused the key at the last call; null without a key or purchases: it refuses unreleased apps. */
  async function isKeyRefused(): Promise<boolean | null> {
    if (appStore === null || !(await checks.hasProduction())) return null
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
