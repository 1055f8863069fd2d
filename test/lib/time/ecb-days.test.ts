import { expect, test } from 'bun:test'
import { areRatesOld, isPublicationDay } from '../../../src/lib/time/ecb-days.ts'

const isOld = (from: string, until: string) => areRatesOld(Date.parse(from), Date.parse(until))

test.each([
  ['over Easter', '2026-04-02T14:00:00Z', '2026-04-07T15:00:00Z'],
  ['over an early Easter', '2027-03-25T15:00:00Z', '2027-03-30T14:30:00Z'],
  ['over Christmas', '2025-12-24T15:00:00Z', '2025-12-29T15:30:00Z'],
  ['over New Year', '2026-12-31T15:00:00Z', '2027-01-04T15:30:00Z'],
  ['over a Labour Day on Friday', '2026-04-30T14:00:00Z', '2026-05-04T14:30:00Z'],
  ['over a weekend', '2026-11-27T15:00:00Z', '2026-11-30T15:30:00Z'],
])('rates are not old %s, before the next ones are published', (_when, from, until) => {
  expect(isOld(from, until)).toBe(false)
})

test('rates are old two publications later', () => {
  expect(isOld('2026-07-06T14:00:00Z', '2026-07-10T14:00:00Z')).toBe(false)
  expect(isOld('2026-07-06T14:00:00Z', '2026-07-10T14:00:01Z')).toBe(true)
  expect(isOld('2026-04-02T14:00:00Z', '2026-04-08T14:00:01Z')).toBe(true)
  expect(isOld('2025-12-24T15:00:00Z', '2025-12-30T15:00:01Z')).toBe(true)
  expect(isOld('2020-01-01T15:00:00Z', '2026-01-01T15:00:00Z')).toBe(true)
})

test('knows the days without rates', () => {
  const closed = [
    '2025-04-18',
    '2025-04-21',
    '2026-04-03',
    '2026-04-06',
    '2027-03-26',
    '2027-03-29',
    '2038-04-23',
    '2038-04-26',
    '2049-04-16',
    '2049-04-19',
    '2076-04-17',
    '2076-04-20',
    '2026-01-01',
    '2026-05-01',
    '2026-12-25',
    '2025-12-26',
    '2026-11-28',
    '2026-11-29',
  ]
  for (const day of closed) expect([day, isPublicationDay(new Date(day))]).toEqual([day, false])
  const open = [
    '2026-04-02',
    '2026-04-07',
    '2026-05-14',
    '2026-12-24',
    '2026-12-31',
    '2026-01-06',
    '2026-06-04',
  ]
  for (const day of open) expect([day, isPublicationDay(new Date(day))]).toEqual([day, true])
})
