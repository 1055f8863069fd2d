import { expect, test } from 'bun:test'
import { yieldToEventLoop } from '../../../src/lib/concurrency/yield-to-event-loop.ts'
import { createLog } from '../../../src/lib/log/log.ts'
import { createWorkers } from '../../../src/platform/queue/workers.ts'

test('a flush also works on what is due behind an item under way', async () => {
  const due = ['first', 'second']
  const done: string[] = []
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
      done.push(id)
      return null
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
  expect(done).toEqual(['first', 'second'])
})
