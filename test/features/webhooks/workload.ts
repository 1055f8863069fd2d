import type { TestApp } from '../../support/app.ts'
import { emit, sampleEvents } from './support/events.ts'

/** Runs everything that reads or writes the webhook tables. */
export async function work(app: TestApp, userId: string) {
  const { webhooks } = app.services
  const { endpoint } = await webhooks.endpoints.add({
    url: 'https://127.0.0.1:9/',
    events: ['all'],
  })
  await emit(app, ...sampleEvents(userId))
  await webhooks.deliveries.list({})
  await webhooks.deliveries.list({ state: 'failed' })
  const { deliveries } = await webhooks.deliveries.list({ endpoint: endpoint.id })
  await webhooks.deliveries.show(deliveries[0]?.id ?? '')
  await webhooks.deliveries.resend(deliveries[0]?.id ?? '')
  await webhooks.health.queueAge()
  await webhooks.endpoints.remove(endpoint.id)
}
