import { expect, test } from 'bun:test'
import { createShares } from '../../../src/lib/concurrency/slots.ts'
import { yieldToEventLoop } from '../../support/until.ts'

const onFull = () => new Error('full')
const rules = { total: 10, share: 6, queueLimit: 3, queueShare: 2, onFull }
const never = new AbortController().signal

/** A budget that lists the holders it has served in `served`. */
function makeBudget() {
  const { reserve, isContended } = createShares(rules)
  const served: string[] = []
  const ask = async (holder: string, amount: number, signal = never) => {
    const lent = await reserve(holder, amount, signal)
    served.push(holder)
    return lent
  }
  return { ask, served, isContended }
}

test('serves waiting requests in order as amounts are returned', async () => {
  const { ask, served } = makeBudget()
  const first = await ask('a', 6)
  const second = await ask('b', 4)
  const waiting = [ask('c', 6), ask('d', 1), ask('e', 4)]
  await expect(ask('f', 1)).rejects.toThrow('full')
  second[Symbol.dispose]()
  await yieldToEventLoop()
  // The small requests would fit, but the large one came first.
  expect(served).toEqual(['a', 'b'])
  first[Symbol.dispose]()
  await Promise.all(waiting.slice(0, 2))
  expect(served).toEqual(['a', 'b', 'c', 'd'])
})

test('makes a holder with a full share wait while others pass', async () => {
  const { ask, served, isContended } = makeBudget()
  const first = await ask('a', 6)
  const more = ask('a', 1)
  await ask('b', 4)
  expect(served).toEqual(['a', 'b'])
  expect(isContended()).toBe(false)
  first[Symbol.dispose]()
  await more
  expect(served).toEqual(['a', 'b', 'a'])
})

test('lets others pass a holder that returns an amount', async () => {
  const { ask, served, isContended } = makeBudget()
  const first = await ask('a', 6)
  await ask('b', 4)
  const waiting = [ask('a', 6), ask('c', 6)]
  expect(isContended()).toBe(true)
  first[Symbol.dispose]()
  await waiting[1]
  expect(served).toEqual(['a', 'b', 'c'])
})

test('keeps one holder from filling the queue', async () => {
  const { ask } = makeBudget()
  const first = await ask('a', 6)
  const waiting = [ask('a', 1), ask('a', 1)]
  await expect(ask('a', 1)).rejects.toThrow('full')
  await ask('b', 1)
  first[Symbol.dispose]()
  await Promise.all(waiting)
})

test('removes an aborted request from the queue, so that later ones move up', async () => {
  const { ask, served } = makeBudget()
  await ask('a', 6)
  const leaving = new AbortController()
  const large = ask('b', 6, leaving.signal)
  const small = ask('c', 4)
  await yieldToEventLoop()
  expect(served).toEqual(['a'])
  leaving.abort()
  await expect(large).rejects.toThrow('full')
  await small
  expect(served).toEqual(['a', 'c'])
  await expect(ask('d', 6, AbortSignal.abort())).rejects.toThrow('full')
})
