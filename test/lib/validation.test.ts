import { expect, test } from 'bun:test'
import { Value } from '@sinclair/typebox/value'
import { t } from 'elysia'
import { checkedOnce } from '../../src/lib/validation.ts'

const Numbered = checkedOnce(t.Object({ n: t.Integer() }))

test('a valid object is checked only once per schema, even if it changes later', () => {
  const plan: { n: unknown } = { n: 1 }
  expect(Value.Check(Numbered, plan)).toBe(true)
  plan.n = 'one'
  expect(Value.Check(Numbered, plan)).toBe(true)
  expect(Value.Check(checkedOnce(t.Object({ n: t.Boolean() })), plan)).toBe(false)
})

test('an invalid object is refused each time', () => {
  const plan = { n: 'one' }
  expect(Value.Check(Numbered, plan)).toBe(false)
  expect(Value.Check(Numbered, plan)).toBe(false)
  expect(Value.Check(Numbered, null)).toBe(false)
})
