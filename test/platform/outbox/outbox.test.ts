import { expect, test } from 'bun:test'
import { createOutbox } from '../../../src/platform/outbox/outbox.ts'
import { createTestApp } from '../../support/app.ts'

const HOUR = 60 * 60 * 1000
const YEAR = 365 * 24 * HOUR

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

test('the job does not wait for a mail server that never replies: a restart would wait for it', async () => {
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

test('an instance does not send a mail that another instance is sending', async () => {
  await using app = await createTestApp()
  const { db, log } = app.services
  const now = () => app.clock.now
  const newId = () => crypto.randomUUID()
  const create = () => createOutbox({ db, key: new Uint8Array(32), now, newId, log })
  const [first, second] = [create(), create()]
  let sentBySecond = 0
  second.deliverWith(async () => void sentBySecond++)
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>()
  first.deliverWith(async () => {
    arrive()
    await mayEnd
  })
  const handling = { priority: 0, userId: null, source: null }
  await db.write((tx) => first.add(tx, { kind: 'test' }, handling))
  await arrived
  await second.flush()
  expect(sentBySecond).toBe(0)
  end()
  await first.flush()
  expect(await first.count()).toBe(0)
})

test('retries at once a mail that a clock hours ahead has delayed', async () => {
  await using app = await createTestApp()
  const { outbox } = app.services
  let isDown = true
  outbox.deliverWith(async () => {
    if (isDown) throw new Error('the relay is down')
  })
  app.clock.advance(12 * HOUR)
  await app.register('ann@example.com')
  await outbox.flush()
  app.clock.advance(-12 * HOUR)
  isDown = false
  await outbox.flush()
  expect(await outbox.count()).toBe(1)
  await outbox.repair()
  await outbox.flush()
  expect(await outbox.count()).toBe(0)
})

test('retries a failed mail after a clock that was a year ahead is set back', async () => {
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
  // The mail is not sent before its retry is due.
  app.clock.advance(-1)
  await outbox.flush()
  expect(tries).toHaveLength(1)
  app.clock.advance(-YEAR)
  await outbox.flush()
  expect([tries.length, await outbox.count()]).toEqual([2, 0])
})
