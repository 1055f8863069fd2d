import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { computeRenewal } from '../../../src/features/billing/purchases/access.ts'
import type { Purchase } from '../../../src/features/billing/purchases/purchase.ts'
import { periodAt } from '../../../src/lib/time/limit-period.ts'

const day = (text: string) => new Date(`${text}T00:00:00Z`)

test.each([
  [
    '2026-07-06T23:59:59Z',
    '2026-06-07T09:00:00Z',
    '2026-07-07T09:00:00Z',
    '2026-06-07',
    '2026-07-07',
  ],
  [
    '2026-07-07T00:00:00Z',
    '2026-06-07T09:00:00Z',
    '2026-07-07T09:00:00Z',
    '2026-07-07',
    '2026-08-07',
  ],
  // A year, counted in months.
  [
    '2026-12-25T12:00:00Z',
    '2026-03-10T09:00:00Z',
    '2027-03-10T09:00:00Z',
    '2026-12-10',
    '2027-01-10',
  ],
  // The month before a renewal at the end of a longer month lasts until the renewal.
  [
    '2026-03-29T12:00:00Z',
    '2026-02-28T09:00:00Z',
    '2026-03-31T09:00:00Z',
    '2026-02-28',
    '2026-03-31',
  ],
  // A trial of three days.
  [
    '2026-06-08T12:00:00Z',
    '2026-06-07T09:00:00Z',
    '2026-06-10T09:00:00Z',
    '2026-06-07',
    '2026-07-07',
  ],
  // Renewed a day early.
  [
    '2026-07-06T12:00:00Z',
    '2026-07-07T09:00:00Z',
    '2026-08-07T09:00:00Z',
    '2026-06-07',
    '2026-07-07',
  ],
  // In the grace period, before the next renewal is known.
  [
    '2026-07-10T12:00:00Z',
    '2026-06-07T09:00:00Z',
    '2026-07-07T09:00:00Z',
    '2026-07-07',
    '2026-08-07',
  ],
])(
  'at %s a purchase from %s to %s is in the month from %s to %s',
  (now, from, to, starts, ends) => {
    const startedAt = new Date(from)
    const renewal = {
      startedAt,
      endsAt: new Date(to),
      firstStartedAt: startedAt,
      renews: true,
    }
    expect(periodAt('month', new Date(now), renewal)).toEqual({
      startsAt: day(starts),
      endsAt: day(ends),
    })
  },
)

test('the last hours of a purchase that does not renew do not start a new month', () => {
  const startedAt = new Date('2026-01-15T22:00:00Z')
  const endsAt = new Date('2026-02-15T22:00:00Z')
  const now = new Date('2026-02-15T12:00:00Z')
  const startOf = (renews: boolean) =>
    periodAt('month', now, { startedAt, endsAt, firstStartedAt: startedAt, renews }).startsAt
  expect([startOf(true), startOf(false)]).toEqual([day('2026-02-15'), day('2026-01-15')])
})

test('an early renewal after a trial does not start a new month before it takes effect', () => {
  const firstStartedAt = new Date('2026-01-01T14:00:00Z')
  const renewed = new Date('2026-01-08T14:00:00Z')
  const endsAt = new Date('2026-02-08T14:00:00Z')
  const renewal = { startedAt: renewed, endsAt, firstStartedAt, renews: true }
  const startOf = (at: string) => periodAt('month', new Date(at), renewal).startsAt
  expect(startOf('2026-01-07T18:00:00Z')).toEqual(day('2026-01-01'))
  expect(startOf('2026-01-08T00:00:00Z')).toEqual(day('2026-01-08'))
})

test('without a purchase, months are calendar months', () => {
  const now = new Date('2026-12-06T14:00:00Z')
  expect(periodAt('month', now, null)).toEqual({
    startsAt: day('2026-12-01'),
    endsAt: day('2027-01-01'),
  })
})

test('periods follow each other without gaps, and every moment is in its period', () => {
  const times = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2030, 0) })
  const lengths = fc.constantFrom(null, 1, 3, 7, 28, 30, 31, 365)
  fc.assert(
    fc.property(times, times, lengths, fc.boolean(), (start, at, days, renews) => {
      const endsAt = days === null ? null : new Date(start + days * 86_400_000)
      const startedAt = new Date(start)
      const renewal = { startedAt, endsAt, firstStartedAt: startedAt, renews }
      for (const period of ['month', 'day'] as const) {
        const { startsAt, endsAt: end } = periodAt(period, new Date(at), renewal)
        if (end === null) throw new Error('a month and a day end')
        expect(startsAt.getTime()).toBeLessThanOrEqual(at)
        expect(end.getTime()).toBeGreaterThan(at)
        expect(periodAt(period, new Date(end.getTime() - 1), renewal)).toEqual({
          startsAt,
          endsAt: end,
        })
        expect(periodAt(period, end, renewal).startsAt).toEqual(end)
      }
    }),
  )
})

test('a month of a weekly purchase begins on the day of the month on which the purchase began', () => {
  const startedAt = Date.parse('2026-07-06T14:00:00Z')
  const week = 7 * 86_400_000
  const starts = [0, 1, 4, 5].map((weeks) => {
    const purchasedAt = startedAt + weeks * week
    const purchase = {
      startedAt,
      purchasedAt,
      expiresAt: purchasedAt + week,
      willRenew: true,
    } as Purchase
    return periodAt('month', new Date(purchasedAt), computeRenewal(purchase)).startsAt
  })
  const [first, second] = [day('2026-07-06'), day('2026-08-06')]
  expect(starts).toEqual([first, first, first, second])
})

test.each([
  ['2026-01-31', '2026-02-28'],
  ['2026-01-29', '2026-02-28'],
  ['2026-05-31', '2026-06-30'],
  ['2026-01-15', '2026-02-15'],
])('a month that began on %s continues until %s if the renewal is early', (start, next) => {
  const at = (text: string) => Date.parse(`${text}T14:00:00Z`)
  const month = {
    startedAt: at(start),
    purchasedAt: at(start),
    expiresAt: at(next),
    willRenew: true,
  } as Purchase
  const renewed = { ...month, purchasedAt: at(next), expiresAt: at(next) + 30 * 86_400_000 }
  const now = new Date(at(next) - 20 * 3_600_000)
  const periods = [month, renewed].map((one) => periodAt('month', now, computeRenewal(one)))
  expect(periods[1]).toEqual(periods[0])
})

test('a month shortened by a clock change does not count as a week', () => {
  const purchasedAt = Date.parse('2026-02-15T08:00:00Z')
  const expiresAt = purchasedAt + 28 * 86_400_000 - 3_600_000
  const purchase = { startedAt: Date.parse('2025-12-08T08:00:00Z'), purchasedAt, expiresAt }
  const { startsAt } = periodAt(
    'month',
    new Date(purchasedAt),
    computeRenewal(purchase as Purchase),
  )
  expect(startsAt).toEqual(day('2026-02-15'))
})

test.each([
  ['a monthly one', '2026-09-06', '2026-08-09', '2026-08-06'],
  ['a yearly one', '2027-08-06', '2026-08-20', '2026-08-06'],
  ['one whose months differ in length', '2026-09-30', '2026-09-04', '2026-08-30'],
  ['one that was extended by 20 days', '2026-09-26', '2026-08-06', '2026-08-06'],
  ['one that was renewed in time', '2026-09-06', '2026-08-06', '2026-08-06'],
  ['one that began again a month later', '2026-10-06', '2026-09-06', '2026-09-06'],
])(
  'a payment recovered in the grace period does not start a new month: %s',
  (_name, ends, paid, start) => {
    const at = (text: string) => Date.parse(`${text}T14:00:00Z`)
    const purchase = {
      store: 'APP_STORE',
      startedAt: at('2026-01-06'),
      purchasedAt: at(paid),
      expiresAt: at(ends),
      willRenew: true,
    } as Purchase
    const { startsAt } = periodAt('month', new Date(at(paid)), computeRenewal(purchase))
    expect(startsAt).toEqual(day(start))
  },
)
