import { expect, test } from 'bun:test'
import { createTaskQueue } from '../../../src/lib/concurrency/slots.ts'
import { yieldToEventLoop } from '../../support/until.ts'

const full = () => new Error('full')

test('two tasks run at once, two wait in order, and a fifth is refused', async () => {
  const runLimited = createTaskQueue({ limit: 2, queueLimit: 2, onFull: full })
  const started: number[] = []
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
  const work = (at: number) =>
    runLimited(async () => {
      started.push(at)
      await ends[at]?.promise
    })
  const admitted = [0, 1, 2, 3].map(work)
  await expect(work(4)).rejects.toThrow('full')
  expect(started).toEqual([0, 1])
  for (const [ended, running] of [
    [1, [0, 1, 2]],
    [0, [0, 1, 2, 3]],
  ] as const) {
    ends[ended]?.resolve()
    await admitted[ended]
    await yieldToEventLoop()
    expect(started).toEqual([...running])
  }
  for (const { resolve } of ends) resolve()
  await Promise.all(admitted)
  await work(4)
  expect(started).toEqual([0, 1, 2, 3, 4])
})

test('work that has waited too long leaves the queue', async () => {
  const runLimited = createTaskQueue({ limit: 1, queueLimit: 100, maxWait: 20, onFull: full })
  const { promise, resolve } = Promise.withResolvers<void>()
  const first = runLimited(() => promise)
  let hasStarted = false
  const late = runLimited(async () => {
    hasStarted = true
  })
  await expect(late).rejects.toThrow('full')
  resolve()
  await first
  expect(await runLimited(async () => 'free')).toBe('free')
  expect(hasStarted).toBe(false)
})
