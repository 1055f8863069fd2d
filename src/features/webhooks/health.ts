import { and, asc, eq, isNotNull, isNull, lte } from 'drizzle-orm'
import { countUpTo } from '../../platform/db/key-ranges.ts'
import { withoutQuery } from './endpoints.ts'
import type { WebhooksDb } from './schema.ts'

type HealthDeps = { db: WebhooksDb; counts: Record<string, number>; now: () => Date }

const MAX_COUNTED = 1_000

/** The state of webhooks, for metrics, the console and `doctor`. */
export function createWebhookHealth({ db, counts, now }: HealthDeps) {
  const { webhookEndpoints, webhookDeliveries } = db.tables
  return { attempts: () => counts, queueAge, countFailed, listFailed, countWaiting }

  /** How long the oldest due delivery to an enabled endpoint has waited, in seconds; 0 without one. */
  async function queueAge(): Promise<number> {
    const at = now()
    const endpoints = await db.read
      .select({ id: webhookEndpoints.id })
      .from(webhookEndpoints)
      .where(isNull(webhookEndpoints.disabledAt))
      .execute()
    const oldest = await Promise.all(endpoints.map(({ id }) => oldestDue(id, at)))
    return Math.max(0, ...oldest.map((dueAt) => (at.getTime() - dueAt) / 1000))
  }

  async function oldestDue(endpointId: string, at: Date): Promise<number> {
    const [row] = await db.read
      .select({ dueAt: webhookDeliveries.dueAt })
      .from(webhookDeliveries)
      .where(and(eq(webhookDeliveries.endpointId, endpointId), lte(webhookDeliveries.dueAt, at)))
      .orderBy(asc(webhookDeliveries.dueAt))
      .limit(1)
    return row?.dueAt?.getTime() ?? at.getTime()
  }

  /** The endpoints, and how many deliveries wait for each: at most 1,000. */
  async function countWaiting() {
    const { endpointId, state } = webhookDeliveries
    const endpoints = await db.read
      .select({ id: webhookEndpoints.id, url: webhookEndpoints.url })
      .from(webhookEndpoints)
      .execute()
    return Promise.all(
      endpoints.map(async ({ id, url }) => {
        const isWaiting = and(eq(endpointId, id), eq(state, 'waiting'))
        const key = webhookDeliveries.id
        const waiting = await countUpTo(db.read, webhookDeliveries, key, isWaiting, MAX_COUNTED)
        return { id, url: withoutQuery(url), waiting }
      }),
    )
  }

  /** How many endpoints were disabled automatically. */
  async function countFailed(): Promise<number> {
    return (await listFailed()).length
  }

  /** The endpoints that were disabled automatically. */
  async function listFailed() {
    const rows = await db.read
      .select()
      .from(webhookEndpoints)
      .where(isNotNull(webhookEndpoints.disabledAt))
      .execute()
    return rows
      .filter(({ disabledReason }) => disabledReason !== 'operator')
      .map(({ id, url, disabledReason }) => ({
        id,
        host: new URL(url).host,
        reason: disabledReason,
      }))
  }
}
