import { expect, test } from 'bun:test'
import { createExclusiveQueue } from '../../../src/platform/db/postgres/exclusive-queue.ts'
import { yieldToEventLoop } from '../../support/until.ts'

test('while the lock cannot be taken, expired jobs are refused', async () => {
  const clock = performance.now
  let now = 0
  performance.now = () => now
  try {
    const queue = createExclusiveQueue(async () => {
      await yieldToEventLoop()
      now += 3_000
      throw new Error('the server does not respond')
    })
    const refused: number[] = []
    const jobs = Array.from({ length: 100 }, () =>
      queue.run(async () => {}).catch(() => void refused.push(now)),
    )
    await Promise.all(jobs)
    // Three attempts refuse one job each; after the next, all of the others have waited for ten seconds.
    expect(refused.slice(0, 4)).toEqual([3_000, 6_000, 9_000, 12_000])
    expect(new Set(refused).size).toBe(4)
  } finally {
    performance.now = clock
  }
})
