import { eq } from 'drizzle-orm'
import { type AccessState, computeAccessState } from '../../features/billing/access/access-state.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import type { Services } from '../../server/services.ts'
import type { DemoEvent } from './purchases.ts'
import { idAt } from './random.ts'

/** Reserved by RFC 6761: no request can reach it. */
const EXAMPLE_URL = 'https://hooks.example.invalid/homeport'
const MESSAGES = 24
const NO_ACCESS = computeAccessState([], 'free')

/** Adds a disabled webhook endpoint with deliveries for the latest purchases: one needed a retry, one failed for good. */
export async function addWebhooks({ db, webhooks, now }: Services, purchases: DemoEvent[]) {
  const { webhookEndpoints, webhookMessages, webhookDeliveries, webhookAttempts } = db.tables
  const latest = purchases
    .filter(({ fields }) => fields['period_type'] === 'NORMAL')
    .slice(-MESSAGES)
  const createdAt = new Date((latest[0]?.at ?? now().getTime()) - MINUTE_MS)
  const endpointId = idAt(createdAt.getTime(), 'endpoint')
  const delivered = latest.map((event, index) => {
    const userId = String(event.fields['app_user_id'])
    const at = new Date(event.at)
    const id = idAt(event.at, `delivery ${index}`)
    const messageId = idAt(event.at, `message ${index}`)
    const data = JSON.stringify(describeChange(userId, event))
    const state = index === 15 ? 'failed' : 'delivered'
    const statuses = index === 15 ? [500, 500, 500] : index === 9 ? [503, 200] : [200]
    return {
      message: { id: messageId, type: 'subscription.changed', userId, data, createdAt: at },
      delivery: { id, messageId, endpointId, state, attempts: statuses.length, dueAt: null },
      attempts: statuses.map((status, attempt) => ({
        id: idAt(event.at + attempt * MINUTE_MS, `attempt ${index} ${attempt}`),
        deliveryId: id,
        at: new Date(event.at + attempt * MINUTE_MS),
        duration: 40 + ((index * 37) % 90),
        status,
        fault: status === 200 ? null : `The endpoint answered ${status}.`,
        reply: status === 200 ? 'ok' : 'upstream timed out',
      })),
    }
  })
  await db.write(async (tx) => {
    await tx.insert(webhookEndpoints).values({
      id: endpointId,
      url: EXAMPLE_URL,
      description: 'Example: updates the CRM',
      events: ['subscription.changed'],
      secret: '',
      createdAt,
      disabledAt: now(),
      disabledReason: 'operator',
    })
    if (delivered.length === 0) return
    await tx.insert(webhookMessages).values(delivered.map(({ message }) => message))
    await tx.insert(webhookDeliveries).values(delivered.map(({ delivery }) => delivery))
    await tx.insert(webhookAttempts).values(delivered.flatMap(({ attempts }) => attempts))
  })
  // Replaces the empty secret with a real one.
  await webhooks.endpoints.rotate(endpointId)
  const noFormer = { formerSecret: null, formerSecretUntil: null }
  const isEndpoint = eq(webhookEndpoints.id, endpointId)
  await db.write(
    async (tx) => void (await tx.update(webhookEndpoints).set(noFormer).where(isEndpoint)),
  )
}

function describeChange(userId: string, { type, fields }: DemoEvent) {
  const access: AccessState = {
    active: true,
    plan: fields['price_id'] === 'price_example_pro_year' ? 'pro_year' : 'pro_month',
    entitlements: ['pro'],
    productId: String(fields['product_id']),
    store: String(fields['store']),
    status: 'active',
    willRenew: true,
    expiresAt: new Date(Number(fields['expiration_at_ms'] ?? 0)).toISOString(),
  }
  const ends = type === 'EXPIRATION'
  const starts = type === 'INITIAL_PURCHASE'
  return {
    userId,
    environment: 'production',
    previous: starts ? NO_ACCESS : access,
    current: ends ? NO_ACCESS : { ...access, willRenew: type !== 'CANCELLATION' },
    reason: ends ? 'Access has ended.' : 'Access is on.',
  }
}
