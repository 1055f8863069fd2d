import { expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  applyDifferences,
  compareTexts,
  differencesBetween,
} from '../../../src/lib/text/differences.ts'

/** JSON as a database returns it: without -0. */
const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)))

test.each([
  [{ a: 1 }, { a: 2 }, [['a', 1, 2]]],
  [{ a: 1 }, {}, [['a', 1, null]]],
  [{}, { a: 1 }, [['a', null, 1]]],
  [
    { ios: { version: '1', build: 1 } },
    { ios: { version: '2', build: 1 } },
    [['ios.version', '1', '2']],
  ],
  [[{ name: { de: 'x' } }], [{ name: { de: 'y' } }], [['0.name.de', 'x', 'y']]],
  [[{ code: 'pro', price: 1 }], [{ code: 'pro', price: 2 }], [['pro.price', 1, 2]]],
  [
    [{ code: 'a' }, { code: 'b' }],
    [{ code: 'b' }, { code: 'a' }],
    [['Order', ['a', 'b'], ['b', 'a']]],
  ],
  [
    { plans: [{ code: 'a' }, { code: 'c' }] },
    { plans: [{ code: 'a' }, { code: 'b' }, { code: 'c' }] },
    [['plans.b', null, { code: 'b' }]],
  ],
  [
    [{ question: 'How long?' }, { question: { en: 'When?' } }],
    [{ question: { en: 'When?' } }, { question: 'How long?' }],
    [['Order', ['How long?', 'When?'], ['When?', 'How long?']]],
  ],
  [[{ code: 'a' }, { code: 'b' }], [{ code: 'b' }], [['a', { code: 'a' }, null]]],
  [[{ code: 'a' }, { code: 'b' }], [{ code: 'a' }, { code: 'c' }], [['1.code', 'b', 'c']]],
  [[1, 2], [1], [['1', 2, null]]],
  [{ a: { b: 1 } }, { a: 'text' }, [['a', { b: 1 }, 'text']]],
  [{ a: [] }, { a: {} }, [['a', [], {}]]],
  [{ a: null }, { a: { b: 1 } }, [['a', null, { b: 1 }]]],
  [1, 2, [['', 1, 2]]],
  [null, { a: 1 }, [['', null, { a: 1 }]]],
  [{ a: 1, b: 2 }, { b: 2, a: 1 }, []],
  [{ a: false }, { a: null }, [['a', false, null]]],
])('differences from %j to %j are %j', (before, after, expected) => {
  const found = differencesBetween(before, after)
  expect(found.map((one) => [one.path, one.before, one.after])).toEqual(expected)
})

test('treats names such as constructor as ordinary fields', () => {
  for (const name of ['constructor', 'toString', 'valueOf', '__proto__', 'hasOwnProperty']) {
    const after = JSON.parse(`{"${name}": 1}`)
    expect(differencesBetween({}, after)).toEqual([{ path: name, before: null, after: 1 }])
    expect(differencesBetween(after, {})).toEqual([{ path: name, before: 1, after: null }])
  }
})

test('finds no differences between equal values', () => {
  fc.assert(
    fc.property(json, (value) => {
      expect(differencesBetween(value, structuredClone(value))).toEqual([])
    }),
  )
})

test('finds every difference, and in the other direction the same ones with swapped values', () => {
  const property = fc.property(json, json, (before, after) => {
    const forward = differencesBetween(before, after)
    const backward = differencesBetween(after, before)
    const swapped = backward.map(({ path, before: left, after: right }) => {
      return { path, before: right, after: left }
    })
    const byPath = (a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1)
    expect(forward.toSorted(byPath)).toEqual(swapped.toSorted(byPath))
    if (!Bun.deepEquals(before, after)) expect(forward).not.toBeEmpty()
  })
  fc.assert(property)
})

test('reports only the value that changed', () => {
  const name = fc.stringMatching(/^[a-z]{1,8}$/).map((text) => `${text}1`)
  const tree = fc.dictionary(name, fc.dictionary(name, fc.integer(), { minKeys: 1 }), {
    minKeys: 1,
  })
  const property = fc.property(tree, fc.nat(), (before, pick) => {
    const paths = Object.entries(before).flatMap(([outer, inner]) =>
      Object.keys(inner).map((one) => [outer, one] as const),
    )
    const [outer = '', inner = ''] = paths[pick % paths.length] ?? []
    const after = structuredClone(before)
    const value = before[outer]?.[inner]
    Object.assign(after[outer] ?? {}, { [inner]: 'changed' })
    expect(differencesBetween(before, after)).toEqual([
      { path: `${outer}.${inner}`, before: value, after: 'changed' },
    ])
  })
  fc.assert(property)
})

test.each([
  [{ a: 1, b: 2 }, { a: 3, b: 4 }, ['b'], { a: 1, b: 4 }],
  [{ a: { b: 1, c: 1 } }, { a: { b: 2, d: 2 } }, ['a.c', 'a.d'], { a: { b: 1, d: 2 } }],
  [[{ a: 1 }, { a: 2 }], [{ a: 3 }], ['1'], [{ a: 1 }]],
  [
    { rules: {} },
    { rules: { 'x.y': [{ when: {}, value: 1 }] } },
    ['none'],
    { rules: { 'x.y': [] } },
  ],
])('from %j to %j, applies only the changes of %j: %j', (before, after, chosen, expected) => {
  expect(applyDifferences(before, after, (path) => chosen.includes(path))).toEqual(expected)
  expect(applyDifferences(before, after, () => true)).toEqual(after)
})

test('applies all or none of the changes of a list whose items were added, removed or moved', () => {
  const items = (codes: string[]) => codes.map((code) => ({ code, price: code.length }))
  const codes = fc.uniqueArray(fc.constantFrom('a', 'bb', 'ccc', 'dddd', 'eeeee'))
  fc.assert(
    fc.property(codes, codes, (before, after) => {
      const lists = [items(before), items(after)] as const
      expect(applyDifferences(...lists, () => true)).toEqual(items(after))
      expect(applyDifferences(...lists, () => false)).toEqual(items(before))
    }),
  )
})

test.each([
  ['one two three', 'one 2 three', 'one[- two][+ 2] three'],
  ['one two', 'one two three', 'one two[+ three]'],
  ['one\ntwo\nthree', 'one\nthree', 'one[-\ntwo]\nthree'],
  ['a b c d e', 'a c x e', 'a[- b] c[- d][+ x] e'],
  ['same', 'same', 'same'],
  ['', 'new', '[+new]'],
])('marks the words that differ between %j and %j', (earlier, later, expected) => {
  const marks = { same: (text: string) => text, removed: bracket('-'), added: bracket('+') }
  const parts = compareTexts(earlier, later)
  expect(parts.map(({ kind, text }) => marks[kind](text)).join('')).toBe(expected)
})

test('the parts of a comparison add up to both texts', () => {
  const text = fc.array(fc.constantFrom('a', 'b', ' ', '\n', 'c d'), { maxLength: 12 })
  fc.assert(
    fc.property(text, text, (one, other) => {
      const [earlier, later] = [one.join(''), other.join('')]
      const without = (left: string) =>
        compareTexts(earlier, later)
          .filter(({ kind }) => kind !== left)
          .map((part) => part.text)
          .join('')
      expect([without('added'), without('removed')]).toEqual([earlier, later])
    }),
  )
})

test('replaces the middle of texts that are too long to compare', () => {
  const numbers = (from: number) => Array.from({ length: 2_000 }, (_, at) => from + at).join(' ')
  const [first, second] = [numbers(0), numbers(5_000)]
  expect(compareTexts(`start ${first} end`, `start ${second} end`)).toEqual([
    { kind: 'same', text: 'start' },
    { kind: 'removed', text: ` ${first}` },
    { kind: 'added', text: ` ${second}` },
    { kind: 'same', text: ' end' },
  ])
})

function bracket(sign: string) {
  return (text: string) => `[${sign}${text}]`
}
