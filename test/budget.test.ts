import { expect, test } from 'bun:test'
import { createBudget } from '../src/lib/budget.ts'

const rules = { total: 10, share: 6, queueLimit: 2, onFull: () => new Error('full') }

test('what is lent comes back, and those who wait are served in the order they came', async () => {
  const hold = createBudget(rules)
  const served: string[] = []
  const first = await hold('a', 6)
  const second = await hold('b', 4)
  const third = hold('c', 6).then((lent) => {
    served.push('c')
    return lent
  })
  const fourth = hold('d', 4).then((lent) => {
    served.push('d')
    return lent
  })
  await expect(hold('e', 1)).rejects.toThrow('full')
  first[Symbol.dispose]()
  second[Symbol.dispose]()
  await Promise.all([third, fourth])
  expect(served).toEqual(['c', 'd'])
})

test('one holder has its share and waits, while others pass', async () => {
  const hold = createBudget(rules)
  const first = await hold('a', 6)
  let isServed = false
  const more = hold('a', 1).then(() => {
    isServed = true
  })
  await hold('b', 4)
  expect(isServed).toBe(false)
  first[Symbol.dispose]()
  await more
  expect(isServed).toBe(true)
})
