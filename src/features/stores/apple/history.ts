import type { AppStoreApp } from '../../../config/subjects/stores.ts'
import type { Log } from '../../../lib/log/log.ts'
import { DAY_MS, HOUR_MS } from '../../../lib/time/durations.ts'
import type { StoredEnvironment } from '../../billing/environment.ts'
import type { EventInbox } from '../../billing/inbox/event-inbox.ts'
import type { StoreApps } from '../checks/apps.ts'
import type { StoresDb } from '../schema.ts'
import { AppleApiError } from './api-error.ts'
import type { AppStore } from './app-store.ts'
import { AppleTokenError } from './certificates.ts'
import { readAppleDelivery } from './delivery.ts'
import type { VerifyToken } from './token.ts'

type HistoryDeps = {
  db: StoresDb
  appStore: AppStore
  apps: AppStoreApp[]
  verify: VerifyToken
  storeApps: StoreApps
  eventInbox: Pick<EventInbox, 'recordOnce'>
  now: () => Date
  log: Log
}

/** `read`: notifications in the history; `added`: those that the log did not have. */
type CatchUp = { read: number; added: number; refused: number }

/** Windows overlap, because Apple lists notifications late. */
const OVERLAP_MS = 2 * HOUR_MS
/** How far back Apple's history goes, less a day in case clocks differ. */
const REACH_MS: Record<StoredEnvironment, number> = {
  PRODUCTION: 179 * DAY_MS,
  SANDBOX: 29 * DAY_MS,
}
const MAX_RESTARTS = 3
/** Failures that affect every app. */
const GENERAL_FAILURES = new Set<AppleApiError['reason']>(['unreachable', 'busy'])
/** Until this is corrected, each run reads the history from the same time again, so that nothing will be missing. */
const OTHER_APPLE_ID = 'APP_STORE_APPS has another Apple ID for this app than its notifications'

/** Finds notifications that never arrived or were lost with a backup. */
export function createAppleHistory(deps: HistoryDeps) {
  const { db, appStore, apps, storeApps, verify, eventInbox, now, log } = deps
  return { catchUp }

  /**
   * Continues from the last complete window, or from `since`; a window is complete once its last page is stored. Throws
   * `AppleApiError` after all apps, or at once if Apple is not available; `refused_key` only if Apple refuses the key
   * for every app, as it does for an app that is not released.
   */
  async function catchUp(
    environment: StoredEnvironment,
    {
      since,
      signal,
      onProgress = () => {},
    }: { since?: Date; signal: AbortSignal; onProgress?: (soFar: CatchUp) => void },
  ): Promise<CatchUp> {
    const total = { read: 0, added: 0, refused: 0 }
    const refused: AppleApiError[] = []
    let failure: AppleApiError | null = null
    for (const app of apps) {
      const until = now()
      const from = await chooseStart(app, environment, since)
      let foreign = 0
      try {
        foreign = await readWindow(app, environment, { from, until, signal, total, onProgress })
      } catch (error) {
        if (!(error instanceof AppleApiError) || GENERAL_FAILURES.has(error.reason)) throw error
        if (error.reason === 'refused_key') refused.push(error)
        else failure ??= error
        continue
      }
      if (signal.aborted) break
      if (foreign > 0) {
        log.error({ bundleId: app.bundleId, notifications: foreign }, OTHER_APPLE_ID)
        continue
      }
      await storeApps.markComplete({ store: 'app_store', ...app, environment }, until)
    }
    if (failure !== null) throw failure
    const [err] = refused
    if (err && refused.length === apps.length) throw err
    if (err) log.warn({ err, apps: refused.length }, 'the history of some apps cannot be read')
    return total
  }

  /** `since` can start earlier than the last complete window, but leaves no gap after it. */
  async function chooseStart(app: AppStoreApp, environment: StoredEnvironment, since?: Date) {
    const earliest = now().getTime() - REACH_MS[environment]
    const { completeUntil: last } = await storeApps.read({
      store: 'app_store',
      ...app,
      environment,
    })
    const wanted = since?.getTime() ?? Number.POSITIVE_INFINITY
    const next = last === null ? (since?.getTime() ?? 0) : last.getTime() - OVERLAP_MS
    return new Date(Math.max(earliest, Math.min(wanted, next)))
  }

  type Window = {
    from: Date
    until: Date
    signal: AbortSignal
    total: CatchUp
    onProgress: (soFar: CatchUp) => void
  }

  /**
   * An expired page token starts the window again: known notifications are not recorded twice. Returns how many
   * notifications name an app that is not in `APP_STORE_APPS`.
   */
  async function readWindow(app: AppStoreApp, environment: StoredEnvironment, window: Window) {
    const { from, until, signal, total, onProgress } = window
    let foreign = 0
    for (let restarts = 0; ; restarts++) {
      try {
        const pages = appStore.readNotifications(app, environment, from, until, signal)
        for await (const page of pages) {
          foreign += await recordPage(page, total)
          onProgress(total)
          if (signal.aborted) return foreign
        }
        return foreign
      } catch (error) {
        const isExpired = error instanceof AppleApiError && error.reason === 'page_expired'
        if (!isExpired || restarts >= MAX_RESTARTS) throw error
      }
    }
  }

  /** Returns the number of notifications that name another app. */
  async function recordPage(page: unknown[], total: CatchUp): Promise<number> {
    const read = page.map(readOrError)
    const deliveries = read.filter((one) => one !== null && typeof one !== 'string')
    total.read += page.length
    total.refused += page.length - deliveries.length
    const results = await Promise.all(
      deliveries.map((delivery) => db.write((tx) => eventInbox.recordOnce(tx, delivery))),
    )
    total.added += results.filter((result) => result !== null).length
    return read.filter((fault) => fault === 'other_app').length
  }

  function readOrError(signedPayload: unknown) {
    try {
      return readAppleDelivery(signedPayload, verify, apps)
    } catch (error) {
      if (!(error instanceof AppleTokenError)) throw error
      log.warn({ reason: error.fault }, "a notification in Apple's history is refused")
      return error.fault
    }
  }
}
