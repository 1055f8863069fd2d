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

test('the access of a new tester is stored after a restart', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const { user } = await app.register()
  await deliver(app, purchase(user._id, { environment: 'SANDBOX' }))
  const signal = new AbortController().signal
  const storedStatus = async () => {
    const { db, accessStates } = app.services
    await accessStates.followPlans(signal)
    const rows = await db.read.select().from(db.tables.accessStates)
    return rows.find(({ environment }) => environment === 'production')?.status
  }
  expect(await storedStatus()).not.toBe('paying')
  await app.restart({ sandboxTesters: [user._id] })
  expect(await storedStatus()).toBe('paying')
})
