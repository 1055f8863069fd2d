import { expect, test } from 'bun:test'
import { createTestApp } from '../../../support/app.ts'
import { deliver, ms, purchase } from '../../../support/billing.ts'

test('a first comparison that was interrupted stays silent, also with other plans', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const { user } = await app.register()
  await deliver(app, purchase(user._id))
  const { db, accessStates, webhooks } = app.services
  const { reconciliation, webhookMessages } = db.tables
  const interrupted = JSON.stringify({ version: 'of other plans', after: 'a b', isFirst: true })
  await db.write(async (tx) => {
    await tx.delete(db.tables.accessStates)
    await tx.insert(reconciliation).values({ id: 'access by plans', afterPurchase: interrupted })
  })
  await webhooks.endpoints.add({ url: 'https://example.com/hooks', events: ['all'] })
  await accessStates.followPlans(new AbortController().signal)
  expect(await db.read.$count(db.tables.accessStates)).toBe(1)
  expect(await db.read.$count(webhookMessages)).toBe(0)
})
