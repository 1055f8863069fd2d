import { expect, spyOn, test } from 'bun:test'
import { createSemaphore } from '../../src/lib/semaphore.ts'

const full = () => new Error('full')

test('two tasks run at once, two wait in order, and a fifth is refused', async () => {
  const runLimited = createSemaphore({ limit: 2, queueLimit: 2, onFull: full })
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
    await Bun.sleep(0)
    expect(started).toEqual([...running])
  }
  for (const { resolve } of ends) resolve()
  await Promise.all(admitted)
  await work(4)
  expect(started).toEqual([0, 1, 2, 3, 4])
})

test('work that has waited too long leaves the queue', async () => {
  const runLimited = createSemaphore({ limit: 1, queueLimit: 100, maxWait: 20, onFull: full })
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

test('refuses work at once if it would wait too long, judging by past durations', async () => {
  let now = 0
  using _clock = spyOn(performance, 'now').mockImplementation(() => now)
  const runLimited = createSemaphore({ limit: 1, queueLimit: 100, maxWait: 60_000, onFull: full })
  await runLimited(async () => {
    now += 40_000
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  const running = runLimited(() => promise)
  const waiting = runLimited(async () => 'done')
  // This work would wait for 80 seconds; the refusal comes before any timer could fire.
  const refused = runLimited(async () => {}).catch(({ message }) => message)
  expect(await Promise.race([refused, Bun.sleep(0).then(() => 'waits')])).toBe('full')
  resolve()
  await running
  expect(await waiting).toBe('done')
})
