import { expect, test } from 'bun:test'
import { createTestApp } from '../../../support/app.ts'
import { DAY, deliver, ms, purchase } from '../../../support/billing.ts'
import { startReceiver } from '../../../support/receiver.ts'

test('announces access again after a clock that was ahead had ended it', async () => {
  using receiver = startReceiver()
  await using app = await createTestApp({ WEBHOOKS_ALLOW_PRIVATE: 'on' })
  app.clock.now = new Date(ms(1))
  const { accessStates, webhooks, db } = app.services
  const signal = AbortSignal.timeout(10_000)
  await webhooks.endpoints.add({ url: receiver.url, events: ['subscription.changed'] })
  await accessStates.followPlans(signal)
  const { user } = await app.register()
  await deliver(app, purchase(user._id))
  await webhooks.flush()
  app.clock.advance(60 * DAY)
  await accessStates.announceDue(signal)
  await webhooks.flush()
  app.clock.advance(-60 * DAY)
  await accessStates.compareAgain()
  await accessStates.followPlans(signal)
  await webhooks.flush()
  const announced = receiver.received
    .map(({ body }) => JSON.parse(body))
    .toSorted((a, b) => a.timestamp.localeCompare(b.timestamp))
    .map(({ data }) => data.current.entitlements)
  expect(announced).toEqual([['pro'], [], ['pro']])
  const [state] = await db.read.select().from(db.tables.accessStates)
  expect([state?.status, state?.changesAt]).toEqual(['paying', new Date(ms(30))])
})

test('a first comparison is not announced, even if it was interrupted and the plans have changed', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const { user } = await app.register()
  await deliver(app, purchase(user._id))
  const { db, accessStates, webhooks } = app.services
  const { reconciliation, webhookMessages } = db.tables
  const interrupted = JSON.stringify({ version: 'of other plans', after: 'a b', isFirst: true })
  await db.write(async (tx) => {
    await tx.delete(db.tables.accessStates)
    await tx.insert(reconciliation).values({ id: 'access by plans', reached: interrupted })
  })
  await webhooks.endpoints.add({ url: 'https://example.com/hooks', events: ['all'] })
  await accessStates.followPlans(new AbortController().signal)
  expect(await db.read.$count(db.tables.accessStates)).toBe(1)
  expect(await db.read.$count(webhookMessages)).toBe(0)
})
