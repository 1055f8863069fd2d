import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { deliver, purchase } from '../../support/billing.ts'
import { signInOperator } from '../../support/operator.ts'

test('counts the events that a filter matches', async () => {
  await using app = await createTestApp()
  for (let at = 0; at < 3; at++) {
    const transaction = { original_transaction_id: `T${at}` }
    await deliver(app, purchase('ann', { id: `event-${at}`, ...transaction }))
  }
  await deliver(app, { type: 'TEST', at: 1, id: 'test' })
  const ann = await signInOperator(app)
  const count = (filter: string) => ann.read(`event-count?${filter}`)
  expect(await count('user=ann')).toEqual({ count: 3, isComplete: true })
  expect(await count('type=TEST')).toEqual({ count: 1, isComplete: true })
  expect(await count('type=INITIAL_PURCHASE&conflicting=true')).toEqual({
    count: 0,
    isComplete: true,
  })
  expect((await ann.ask('GET', 'event-count?sort=up')).status).toBe(422)
})

test('stops counting where a replay stops', async () => {
  await using app = await createTestApp()
  const { billingEvents } = app.services.db.tables
  await deliver(app, purchase('ann', { id: 'first' }))
  const [{ rowid: _rowid, ...row } = {}] = (await app.services.db.read
    .select()
    .from(billingEvents)) as Record<string, unknown>[]
  const rows = Array.from({ length: 10_050 }, (_, at) => ({
    ...row,
    id: `0${String(at).padStart(12, '0')}`,
    eventId: `copy-${at}`,
  }))
  await app.services.db.write(async (tx) => {
    for (let at = 0; at < rows.length; at += 335)
      await tx.insert(billingEvents).values(rows.slice(at, at + 335) as never)
  })
  const ann = await signInOperator(app)
  expect(await ann.read('event-count?')).toEqual({ count: 10_000, isComplete: false })
})
