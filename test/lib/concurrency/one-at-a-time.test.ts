import { expect, test } from 'bun:test'
import { oneAtATime } from '../../../src/lib/concurrency/one-at-a-time.ts'

test('runs again for calls that arrive while a run is ending', async () => {
  const todo = [1]
  const processed: number[] = []
  const work = oneAtATime(async () => {
    while (todo.length > 0) {
      processed.push(...todo.splice(0))
      await Promise.resolve()
    }
  })
  const first = work()
  for (let turn = 0; turn < 6; turn++) {
    todo.push(turn + 2)
    await Promise.all([work(), work()])
    expect(todo).toEqual([])
  }
  await first
  expect(processed).toEqual([1, 2, 3, 4, 5, 6, 7])
})

test('runs again after a failure', async () => {
  let runs = 0
  const work = oneAtATime(async () => {
    if (++runs === 1) throw new Error('once')
  })
  await expect(work()).rejects.toThrow('once')
  await work()
  expect(runs).toBe(2)
})
