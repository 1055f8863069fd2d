import { expect, test } from 'bun:test'
import { computePeriodEnd, readDuration } from '../../../src/lib/time/plan-durations.ts'

const START = Date.parse('2026-01-31T10:00:00Z')

test.each([
  ['day', '2026-02-01T10:00:00Z'],
  ['30 days', '2026-03-02T10:00:00Z'],
  ['week', '2026-02-07T10:00:00Z'],
  ['2 weeks', '2026-02-14T10:00:00Z'],
  ['weekly', '2026-02-07T10:00:00Z'],
  ['month', '2026-02-28T10:00:00Z'],
  [' Month\n', '2026-02-28T10:00:00Z'],
  ['monthly', '2026-02-28T10:00:00Z'],
  ['3months', '2026-04-30T10:00:00Z'],
  ['quarter', '2026-04-30T10:00:00Z'],
  ['quarterly', '2026-04-30T10:00:00Z'],
  ['year', '2027-01-31T10:00:00Z'],
  ['2 years', '2028-01-31T10:00:00Z'],
  ['P1W', '2026-02-07T10:00:00Z'],
  ['P30D', '2026-03-02T10:00:00Z'],
  ['P4W2D', '2026-03-02T10:00:00Z'],
  ['P1M', '2026-02-28T10:00:00Z'],
  ['p3m', '2026-04-30T10:00:00Z'],
  ['P6M', '2026-07-31T10:00:00Z'],
  ['P1Y', '2027-01-31T10:00:00Z'],
  ['P1Y6M', '2027-07-31T10:00:00Z'],
])('a period of %p ends at %p', (duration, end) => {
  expect(new Date(computePeriodEnd(START, duration) ?? 0)).toEqual(new Date(end))
})

test('a lifetime does not end', () => {
  expect([computePeriodEnd(START, 'lifetime'), computePeriodEnd(START, 'Lifetime')]).toEqual([
    null,
    null,
  ])
})

test.each([
  '',
  'bananas',
  'montth',
  '30d',
  'biweekly',
  'half year',
  'forever',
  'none',
  '0 months',
  '-1 month',
  '1.5 months',
  '1e3 days',
  'month month',
  'P',
  'PT',
  'PT48H',
  'P1',
  'P0D',
  'P1.5M',
  'P1M1Y',
  'P-1M',
  'P1YT',
  '１ month',
  'constructor',
  '__proto__',
])('%p is not a duration, and a period of it ends immediately', (duration) => {
  expect([readDuration(duration), computePeriodEnd(START, duration)]).toEqual([null, START])
})
