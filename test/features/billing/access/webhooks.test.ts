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

test('announces the end of sandbox access when the only test purchase moves to another user', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(2))
  const { db, webhooks } = app.services
  const { accessStates, webhookMessages } = db.tables
  await webhooks.endpoints.add({ url: 'https://example.com/hooks', events: ['all'] })
  const [ann, bob] = [await app.register(), await app.register('bob@example.com')]
  const environment = 'SANDBOX'
  await deliver(app, purchase(ann.user._id, { environment }))
  const ids = { transferred_from: [ann.user._id], transferred_to: [bob.user._id] }
  await deliver(app, { type: 'TRANSFER', at: 1, environment, ...ids })
  const rows = await db.read.select().from(accessStates)
  const active = rows.filter(({ state }) => (state as { active: boolean }).active)
  expect(active.map(({ userId }) => userId)).toEqual([bob.user._id])
  const messages = await db.read.select().from(webhookMessages)
  const changes = messages.filter(({ type }) => type === 'subscription.changed')
  const last = changes.findLast(({ userId }) => userId === ann.user._id)
  expect(JSON.parse(last?.data ?? '{}').current.active).toBe(false)
})
