import { expect, spyOn, test } from 'bun:test'
import { createSharedCache } from '../../../src/platform/db/postgres/cached.ts'
import { createExclusiveQueue } from '../../../src/platform/db/postgres/exclusive-queue.ts'
import { yieldToEventLoop } from '../../support/until.ts'

test('reads a value even if the database takes longer than values stay cached', async () => {
  let checks = 0
  let now = 0
  using _clock = spyOn(performance, 'now').mockImplementation(() => now)
  const read = async () => {
    checks++
    await yieldToEventLoop()
    now += 1_100
    return [['settings', 1]]
  }
  const change = async () => []
  const { cached } = createSharedCache({} as never, { read, change } as never)
  const settings = cached('settings', async () => 'value')
  expect(await Promise.all([settings.read(), settings.read()])).toEqual(['value', 'value'])
  expect(checks).toBe(1)
})

test('runs a job that is queued while the queue ends', async () => {
  for (let microtasks = 0; microtasks < 10; microtasks++) {
    const queue = createExclusiveQueue((work) => work())
    const first = queue.run(async () => {})
    for (let count = 0; count < microtasks; count++) await null
    expect(await queue.run(async () => 'done')).toBe('done')
    await first
  }
})
