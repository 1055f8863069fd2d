import { expect, spyOn, test } from 'bun:test'
import { createFairSlots } from '../../../src/lib/concurrency/fair-slots.ts'
import { yieldToEventLoop } from '../../support/until.ts'

const LARGE = 48_000_000
const SMALL = 1_000_000
const never = new AbortController().signal

/** A queue with two slots, one of them reserved for small jobs; `end` ends the oldest job. */
function makeQueue(more = {}) {
  const onFull = () => new Error('full')
  const rules = { slots: 2, small: 8_000_000, queueLimit: 64, queueShare: 16, onFull, ...more }
  const take = createFairSlots(rules)
  const running: Disposable[] = []
  const served: string[] = []
  return { ask, end, served }

  /** `holder` is a user at an address: `ann@home`. */
  async function ask(holder: string, cost: number, signal = never) {
    const [user, ip = ''] = holder.split('@')
    const slot = await take(user ? [ip, user] : [ip], cost, signal)
    served.push(holder)
    running.push(slot)
  }

  async function end() {
    await yieldToEventLoop()
    running.shift()?.[Symbol.dispose]()
    await yieldToEventLoop()
  }
}

test('a later holder does not wait for all earlier jobs of others', async () => {
  const { ask, end, served } = makeQueue()
  for (let at = 0; at < 16; at++) void ask(`@${at % 6}`, LARGE)
  void ask('ann@home', LARGE)
  for (let at = 0; at < 6; at++) await end()
  expect(served).toEqual(['@0', '@1', '@2', '@3', '@4', '@5', 'ann@home'])
})

test('addresses take turns, and so do the users of one address', async () => {
  const { ask, end, served } = makeQueue()
  for (let at = 0; at < 4; at++) void ask('eve@office', LARGE)
  for (let at = 0; at < 2; at++) void ask('bob@office', LARGE)
  for (let at = 0; at < 2; at++) void ask('ann@home', LARGE)
  for (let at = 0; at < 8; at++) await end()
  expect(served).toEqual([
    ...['eve@office', 'ann@home', 'bob@office', 'ann@home'],
    ...['eve@office', 'bob@office', 'eve@office', 'eve@office'],
  ])
})

test('counts a user once, from any number of addresses', async () => {
  const { ask, end, served } = makeQueue()
  for (let at = 0; at < 6; at++) void ask(`eve@${at}`, LARGE)
  for (let at = 0; at < 3; at++) void ask('ann@home', LARGE)
  for (let at = 0; at < 6; at++) await end()
  expect(served.slice(0, 6).filter((holder) => holder === 'ann@home')).toHaveLength(3)
})

test('charges a job by its cost', async () => {
  const { ask, end, served } = makeQueue({ slots: 1, queueShare: 64 })
  for (let at = 0; at < 4; at++) void ask('@large', 8_000_000)
  for (let at = 0; at < 20; at++) void ask('@small', SMALL)
  for (let at = 0; at < 18; at++) await end()
  expect(served.filter((holder) => holder === '@large')).toHaveLength(3)
})

test('a holder that has had a turn does not starve behind new holders', async () => {
  const { ask, end, served } = makeQueue({ slots: 1 })
  void ask('@ann', SMALL)
  await yieldToEventLoop()
  for (let at = 0; at < 10; at++) void ask(`@stranger ${at}`, SMALL)
  void ask('@ann', SMALL)
  for (let at = 10; at < 60; at++) {
    void ask(`@stranger ${at}`, SMALL)
    await end()
  }
  expect(served.lastIndexOf('@ann')).toBeGreaterThan(0)
  expect(served.lastIndexOf('@ann')).toBeLessThan(40)
})

test('charges a job for its actual time when that exceeds its estimated cost', async () => {
  const { ask, end, served } = makeQueue({ slots: 1, costPerMs: SMALL })
  using clock = spyOn(performance, 'now').mockReturnValue(0)
  void ask('@slow', SMALL)
  await yieldToEventLoop()
  clock.mockReturnValue(20)
  void ask('@slow', SMALL)
  for (let at = 0; at < 5; at++) void ask('@quick', SMALL)
  for (let at = 0; at < 6; at++) await end()
  expect(served).toEqual(['@slow', ...Array(5).fill('@quick'), '@slow'])
})

test('reserves a slot for small jobs', async () => {
  const { ask, served } = makeQueue()
  for (let at = 0; at < 3; at++) void ask(`@${at}`, LARGE)
  await ask('ann@home', SMALL)
  expect(served).toEqual(['@0', 'ann@home'])
})

test('refuses the newest job of the address with the most jobs when the queue is full', async () => {
  const { ask, end, served } = makeQueue({ queueLimit: 4, queueShare: 3 })
  const flood = Array.from({ length: 4 }, () => ask('@flood', LARGE).catch(() => 'refused'))
  await expect(ask('@flood', LARGE)).rejects.toThrow('full')
  const others = ['@a', '@b'].map((holder) => ask(holder, LARGE))
  expect(await flood[3]).toBe('refused')
  for (let at = 0; at < 5; at++) await end()
  await Promise.all(others)
  expect(served).toEqual(['@flood', '@a', '@b', '@flood', '@flood'])
})

test('removes an aborted job from the queue', async () => {
  const { ask, end, served } = makeQueue()
  void ask('@a', LARGE)
  const controller = new AbortController()
  const waiting = ask('@b', LARGE, controller.signal)
  void ask('@c', LARGE)
  controller.abort()
  await expect(waiting).rejects.toThrow('full')
  await end()
  expect(served).toEqual(['@a', '@c'])
})
