import { DAY_MS, HOUR_MS } from '../../../../lib/time/durations.ts'
import type { StoredEnvironment } from '../../../billing/environment.ts'
import type { StripeContext } from '../context.ts'
import { EVENT_TYPES, readNotification } from '../events/notification.ts'
import { stripeApp } from '../status.ts'

/** Stripe keeps events for 30 days. */
const HORIZON_MS = 30 * DAY_MS
/** Clocks differ, and an event may be listed late. */
const OVERLAP_MS = HOUR_MS

/** Finds the objects of events that never arrived, or were lost by restoring a backup. */
export function createStripeCatchUp({ db, api, objects, storeApps, now }: StripeContext) {
  return { catchUp, catchUpAll }

  /** Queues the objects of the events since the last run. Returns the number of events. Throws `StripeApiError`. */
  async function catchUp(environment: StoredEnvironment, signal?: AbortSignal): Promise<number> {
    if (!api.hasKey(environment)) return 0
    const until = now()
    const { completeUntil } = await storeApps.read(stripeApp(environment))
    const from = Math.max(
      until.getTime() - HORIZON_MS,
      (completeUntil?.getTime() ?? 0) - OVERLAP_MS,
    )
    const params = { types: EVENT_TYPES, created: { gte: Math.floor(from / 1000) } }
    let count = 0
    for await (const events of api.list(environment, 'events', params, signal)) {
      const targets = events.flatMap((event) => readNotification(event, environment)?.target ?? [])
      await db.write(async (tx) => {
        for (const target of targets) await objects.enqueue(tx, environment, target)
      })
      count += events.length
    }
    await storeApps.markComplete(stripeApp(environment), until)
    return count
  }

  /** Queues every subscription that Stripe has. Returns their number. */
  async function catchUpAll(environment: StoredEnvironment, signal?: AbortSignal): Promise<number> {
    let count = 0
    const all = api.list(environment, 'subscriptions', { status: 'all' }, signal)
    for await (const subscriptions of all) {
      await db.write(async (tx) => {
        for (const { id, customer } of subscriptions) {
          const target = { id: String(id), customer: String(customer) }
          await objects.enqueue(tx, environment, target)
        }
      })
      count += subscriptions.length
    }
    return count
  }
}
