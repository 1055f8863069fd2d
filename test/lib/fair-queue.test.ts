import { expect, test } from 'bun:test'
import { createFairQueue } from '../../src/lib/fair-queue.ts'

const RULES = { concurrency: 1, queueLimit: 100, maxWait: 60_000, onFull: () => new Error('full') }

test('runs as many pieces side by side as it may', async () => {
  const { queue, started, finishAll } = watched({ ...RULES, concurrency: 2 })
  const all = Promise.all(['a', 'b', 'c'].map((name) => queue([name], name)))
  await Bun.sleep(0)
  expect(started).toEqual(['a', 'b'])
  await finishAll(all)
  expect(started).toEqual(['a', 'b', 'c'])
})

test('a holder with many pieces delays another by one', async () => {
  const { queue, started, finishAll } = watched(RULES)
  const flood = Array.from({ length: 50 }, (_, at) => queue(['flood'], `flood ${at}`))
  const all = Promise.all([...flood, queue(['ann'], 'ann'), queue(['bob'], 'bob')])
  await finishAll(all)
  expect(started.indexOf('ann')).toBeLessThanOrEqual(2)
  expect(started.indexOf('bob')).toBeLessThanOrEqual(3)
})

test('every holder of a piece is charged for it', async () => {
  const { queue, started, finishAll } = watched(RULES)
  const accounts = Array.from({ length: 20 }, (_, at) => queue(['address', `account ${at}`], 'x'))
  const all = Promise.all([...accounts, queue(['elsewhere', 'ann'], 'ann')])
  await finishAll(all)
  expect(started.indexOf('ann')).toBeLessThanOrEqual(2)
})

test('a piece that costs more gets fewer turns', async () => {
  const { queue, started, finishAll } = watched(RULES)
  const large = Array.from({ length: 5 }, () => queue(['large'], 'large', 10))
  const small = Array.from({ length: 10 }, () => queue(['small'], 'small', 1))
  await finishAll(Promise.all([...large, ...small]))
  expect(started.slice(0, 12).filter((name) => name === 'small').length).toBeGreaterThanOrEqual(9)
})

test('a full queue sends the last piece of the busiest holder away, not the newcomer', async () => {
  const { queue, started, finishAll } = watched({ ...RULES, queueLimit: 3 })
  const flood = Array.from({ length: 4 }, () => queue(['flood'], 'flood'))
  const outcomes = Promise.allSettled([...flood, queue(['ann'], 'ann'), queue(['flood'], 'late')])
  await finishAll(outcomes)
  expect((await outcomes).map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
    'rejected',
  ])
  expect(started).toContain('ann')
})

test('whoever waits too long is sent away, and the rest goes on', async () => {
  const { queue, started, finishAll } = watched({ ...RULES, maxWait: 5 })
  const outcomes = Promise.allSettled([queue(['a'], 'first'), queue(['b'], 'second')])
  await Bun.sleep(30)
  await finishAll(outcomes)
  expect((await outcomes).map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  await finishAll(queue(['b'], 'third'))
  expect(started).toEqual(['first', 'third'])
})

/** A queue whose pieces of work end when the test says so; `started` lists them by name. */
function watched(rules: Parameters<typeof createFairQueue>[0]) {
  const run = createFairQueue(rules)
  const started: string[] = []
  const ends: (() => void)[] = []
  return { queue, started, finishAll }

  function queue(holders: string[], name: string, cost = 1) {
    return run(holders, cost, () => {
      started.push(name)
      return new Promise<void>((resolve) => ends.push(resolve))
    })
  }

  async function finishAll(work: Promise<unknown>) {
    let done = false
    void work.finally(() => {
      done = true
    })
    while (!done) {
      ends.shift()?.()
      await Bun.sleep(0)
    }
  }
}
