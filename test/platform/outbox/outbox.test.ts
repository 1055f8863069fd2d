import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'

const YEAR = 365 * 24 * 60 * 60 * 1000

test('sends a message soon after the change that added it', async () => {
  await using app = await createTestApp()
  const { db, outbox } = app.services
  const { promise, resolve } = Promise.withResolvers<void>()
  outbox.deliverWith(async () => resolve())
  const handling = { priority: 0, userId: null, source: null }
  await db.write((tx) =>
    outbox.add(tx, { kind: 'forgotten-password', email: 'ann@example.com' }, handling),
  )
  await promise
})

test('the job does not wait for an unresponsive mail server, which would hold up a restart', async () => {
  await using app = await createTestApp()
  const { db, outbox, jobs } = app.services
  const { promise: arrived, resolve } = Promise.withResolvers<void>()
  const { promise: replied, resolve: reply } = Promise.withResolvers<void>()
  outbox.deliverWith(async () => {
    resolve()
    await replied
  })
  const handling = { priority: 0, userId: null, source: null }
  const message = { kind: 'forgotten-password', email: 'ann@example.com' } as const
  await db.write((tx) => outbox.add(tx, message, handling))
  await jobs.find(({ name }) => name === 'queues')?.run(AbortSignal.timeout(5_000))
  await arrived
  reply()
  await outbox.flush()
})

test('retries a failed e-mail after a clock that was a year ahead is set back', async () => {
  await using app = await createTestApp()
  const { outbox } = app.services
  const tries: Date[] = []
  outbox.deliverWith(async () => {
    tries.push(app.clock.now)
    if (tries.length === 1) throw new Error('the relay is down')
  })
  app.clock.advance(YEAR)
  await app.register('ann@example.com')
  await outbox.flush()
  expect([tries.length, await outbox.count()]).toEqual([1, 1])
  // The e-mail is not sent before its retry is due.
  app.clock.advance(-1)
  await outbox.flush()
  expect(tries).toHaveLength(1)
  app.clock.advance(-YEAR)
  await outbox.flush()
  expect([tries.length, await outbox.count()]).toEqual([2, 0])
})
