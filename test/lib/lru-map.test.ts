import { expect, spyOn, test } from 'bun:test'
import { createLruMap } from '../../src/lib/lru-map.ts'

test('keeps the most recently used entries, at most twice the limit', () => {
  const map = createLruMap<number, string>(3)
  for (let key = 0; key < 100; key++) {
    map.set(key, `value ${key}`)
    expect(map.get(0)).toBe('value 0')
  }
  expect([97, 98, 99].map((key) => map.get(key))).toEqual(['value 97', 'value 98', 'value 99'])
  const kept = Array.from({ length: 100 }, (_, key) => map.get(key)).filter(Boolean)
  expect(kept.length).toBeLessThanOrEqual(6)
})

test('drops entries that were not used for twice the maximum age', () => {
  using clock = spyOn(performance, 'now').mockReturnValue(0)
  const map = createLruMap<string, true>(1_000, 20)
  map.set('old', true)
  for (const [at, key] of ['a', 'b', 'c'].entries()) {
    clock.mockReturnValue(25 * (at + 1))
    map.set(key, true)
  }
  expect(['old', 'a', 'b', 'c'].map((key) => map.get(key) ?? false)).toEqual([
    false,
    false,
    true,
    true,
  ])
})
