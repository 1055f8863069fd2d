import { expect, test } from 'bun:test'
import { addMonths } from '../../../src/lib/time/durations.ts'

test.each([
  ['2026-01-15T10:30:00Z', 1, '2026-02-15T10:30:00Z'],
  ['2026-01-31T10:30:00Z', 1, '2026-02-28T10:30:00Z'],
  ['2028-01-31T00:00:00Z', 1, '2028-02-29T00:00:00Z'],
  ['2026-01-31T00:00:00Z', 2, '2026-03-31T00:00:00Z'],
  ['2026-12-31T23:59:59Z', 12, '2027-12-31T23:59:59Z'],
  ['2026-03-31T00:00:00Z', -1, '2026-02-28T00:00:00Z'],
])('%p plus %p months is %p', (start, months, end) => {
  expect(addMonths(Date.parse(start), months)).toBe(Date.parse(end))
})
