import { expect, test } from 'bun:test'
import { setUpAlerts } from './support/set-up.ts'

test('webhook endpoints receive fired and resolved alerts, with the value and the threshold', async () => {
  await using it = await setUpAlerts()
  const { db, webhooks } = it.app.services
  // This alert would fire, because nothing is delivered here.
  await it.alerts.set('webhooks-late', { isOn: false })
  const url = 'https://203.0.113.1/'
  await db.write((tx) =>
    tx
      .insert(db.tables.webhookEndpoints)
      .values({ ...endpoint(url), createdAt: it.app.clock.now })
      .returning(),
  )
  await webhooks.stop()
  await it.advance(1)
  await it.refuseDelivery()
  await it.advance(140)
  const messages = await db.read.select().from(db.tables.webhookMessages)
  expect(messages.map(({ type }) => type)).toEqual(['alert.fired', 'alert.resolved'])
  expect(JSON.parse(messages[0]?.data ?? '')).toEqual({
    rule: 'billing-refused',
    title: "The billing provider's deliveries are refused",
    severity: 'page',
    value: 1,
    threshold: 0,
    unit: 'in two hours',
  })
})

function endpoint(url: string) {
  return { id: 'e', url, events: ['alert.fired', 'alert.resolved'], description: '', secret: 's' }
}
