import { expect, test } from 'bun:test'
import { yieldToEventLoop } from '../../../src/lib/concurrency/yield-to-event-loop.ts'
import { createLog } from '../../../src/lib/log/log.ts'
import { createWorkers } from '../../../src/platform/queue/workers.ts'
import { until } from '../../support/until.ts'

test('a flush also processes items that are due behind an item in progress', async () => {
  const due = ['first', 'second']
  const processed: string[] = []
  const { promise: mayEnd, resolve: letEnd } = Promise.withResolvers<void>()
  const workers = createWorkers({
    name: 'test queue',
    slots: 1,
    // A claim is a change in the database, so it takes a turn of the event loop.
    claim: async () => {
      await yieldToEventLoop()
      return due.splice(0, 1).map((id) => ({ id }))
    },
    work: async ({ id }) => {
      if (id === 'first') await mayEnd
      processed.push(id)
    },
    now: () => new Date(),
    log: createLog('silent'),
  })
  workers.wake()
  while (workers.underWay.size === 0) await yieldToEventLoop()
  const flushed = workers.flush()
  await yieldToEventLoop()
  letEnd()
  await flushed
  expect(processed).toEqual(['first', 'second'])
})

test('looks again for an item when it is due', async () => {
  const dueAt = new Date(Date.now() + 500)
  const processed: Date[] = []
  const workers = createWorkers({
    name: 'test queue',
    slots: 1,
    claim: async () => (processed.length === 0 && new Date() >= dueAt ? [{ id: 'item' }] : []),
    work: async () => void processed.push(new Date()),
    now: () => new Date(),
    log: createLog('silent'),
  })
  await workers.flush()
  expect(processed).toEqual([])
  workers.wakeAt(dueAt)
  await until(() => processed.length > 0, 'the item is not attempted')
  await workers.stop()
})
