import { and, asc, eq, isNotNull, isNull, lte } from 'drizzle-orm'
import type { ConditionList } from '../../platform/conditions/condition.ts'
import { growthWithout, highest } from '../../platform/conditions/measure.ts'
import { countUpTo } from '../../platform/db/key-ranges.ts'
import { counter, gauge, type MetricList } from '../../platform/metrics/metrics.ts'
import { withoutQuery } from './endpoints.ts'
import type { WebhooksDb } from './schema.ts'
import { OUTCOMES } from './sending/attempt.ts'

type HealthDeps = { db: WebhooksDb; counts: Record<string, number>; now: () => Date }

type Needs = { webhooks: { health: ReturnType<typeof createWebhookHealth> } }

const MAX_COUNTED = 1_000

/** For metrics, the console and `doctor`. */
export function createWebhookHealth({ db, counts, now }: HealthDeps) {
  const { webhookEndpoints, webhookDeliveries } = db.tables
  return { attempts: () => counts, queueAge, listFailed, countWaiting }

  /** In seconds; 0 without a due delivery to an enabled endpoint. */
  async function queueAge(): Promise<number> {
    const at = now()
    const endpoints = await db.read
      .select({ id: webhookEndpoints.id })
      .from(webhookEndpoints)
      .where(isNull(webhookEndpoints.disabledAt))
      .execute()
    const oldest = await Promise.all(endpoints.map(({ id }) => findOldestDue(id, at)))
    return Math.max(0, ...oldest.map((dueAt) => (at.getTime() - dueAt) / 1000))
  }

  async function findOldestDue(endpointId: string, at: Date): Promise<number> {
    const [row] = await db.read
      .select({ dueAt: webhookDeliveries.dueAt })
      .from(webhookDeliveries)
      .where(and(eq(webhookDeliveries.endpointId, endpointId), lte(webhookDeliveries.dueAt, at)))
      .orderBy(asc(webhookDeliveries.dueAt))
      .limit(1)
    return row?.dueAt?.getTime() ?? at.getTime()
  }

  /** At most 1,000 for each endpoint. */
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

export const webhookMetrics: MetricList<Needs> = {
  homeport_webhook_attempts_total: counter(
    `Attempts to deliver a webhook, by outcome: ${OUTCOMES.join(', ')}`,
    ({ webhooks }) => webhooks.health.attempts(),
    'outcome',
  ),
  homeport_webhook_queue_age_seconds: gauge(
    'How long the oldest delivery to an enabled endpoint has been due; 0 while none waits',
    ({ webhooks }) => webhooks.health.queueAge(),
  ),
  homeport_webhook_endpoints_failed: gauge(
    'Webhook endpoints that were disabled because they failed',
    async ({ webhooks }) => (await webhooks.health.listFailed()).length,
  ),
}

export const webhookConditions: ConditionList = {
  'webhook-disabled': {
    title: 'A webhook endpoint was disabled because it failed',
    advice: '"homeport webhooks list" names it. Fix the receiver, then enable the endpoint.',
    severity: 'warn',
    measure: highest('homeport_webhook_endpoints_failed'),
    limit: { above: 0, unit: 'endpoints' },
  },
  'webhooks-failing': {
    title: 'Webhook deliveries fail',
    advice:
      '"homeport deliveries list --state waiting" lists them, "homeport webhooks show ID" says why.',
    severity: 'warn',
    minutes: 30,
    measure: growthWithout(
      'homeport_webhook_attempts_total',
      60,
      { outcome: '!delivered' },
      { outcome: 'delivered' },
    ),
    limit: { above: 10, unit: 'failed attempts in an hour, none delivered' },
  },
  'webhooks-late': {
    title: 'Webhook deliveries are late',
    advice: 'An endpoint responds too slowly for its number of events.',
    severity: 'warn',
    minutes: 10,
    measure: highest('homeport_webhook_queue_age_seconds', { per: 60 }),
    limit: { above: 5, unit: 'minutes' },
  },
}
