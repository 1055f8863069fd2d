import { dataCommand, UsageError } from '../../../lib/command.ts'
import type { Figures, FiguresQuery } from './figures.ts'

type Needs = { figures: Figures }

type Read = Awaited<ReturnType<Figures['read']>>

const showFigures = dataCommand({
  name: 'business',
  summary: 'Show the business figures of a month: subscriptions, trials, churn and revenue',
  options: [
    ['--month <month>', 'such as 2026-10 (default: the current month)'],
    ['--currency <code>', 'the currency of the amounts (default: RATES_BASE)'],
    ['--sandbox', 'test purchases instead of production'],
  ],
  input: (_args, { month, currency, sandbox }): FiguresQuery => {
    if (month !== undefined && !/^20\d\d-(0[1-9]|1[0-2])$/.test(String(month)))
      throw new UsageError('--month takes a month such as 2026-10.')
    if (currency !== undefined && !/^[A-Z]{3}$/i.test(String(currency)))
      throw new UsageError('--currency takes a code such as EUR.')
    return {
      ...(typeof month === 'string' ? { month } : {}),
      ...(typeof currency === 'string' ? { currency } : {}),
      environment: sandbox ? 'sandbox' : 'production',
    }
  },
  work: ({ figures }: Needs, query: FiguresQuery) => figures.read(query),
  print: describeFigures,
})

function describeFigures(figures: Read): string {
  const { month, until, currency, months, payments, breakdowns, unconverted } = figures
  const [before, now] = months.slice(-2)
  if (!now || !before) return ''
  const money = (thousandths: number) => formatAmount(thousandths, currency)
  const lines: [string, string | number][] = [
    ['active subscriptions', `${now.active} (${signed(now.active - before.active)})`],
    ['active trials', now.trials],
    ['new', now.new],
    ['recovered', now.recovered],
    ['churned', now.churned],
    ['payments saved in time', now.saved],
    ['trials started', now.trialStarts],
    ['trials converted', now.converted],
    ['recurring per month', money(now.recurring)],
    ['revenue', money(now.paid - now.refunded)],
    ['paid', money(now.paid)],
    ['refunded', money(now.refunded)],
    ['payments without a price', now.unpriced],
    ...payments.map(({ currency: code, paid, refunded }): [string, string] => [
      `as paid, ${code}`,
      formatAmount(paid - refunded, code),
    ]),
  ]
  const tables = Object.entries(breakdowns).flatMap(([breakdown, rows]) => [
    '',
    [breakdown, 'active', 'new', 'churned', 'revenue'].join('\t'),
    ...rows.map((row) =>
      [row.name || 'unknown', row.active, row.new, row.churned, money(row.revenue)].join('\t'),
    ),
  ])
  return [
    until === null ? month : `${month} up to ${until}`,
    ...describeProgress(figures),
    ...lines.map(([name, value]) => `${name}\t${value}`),
    ...(unconverted.length === 0 ? [] : [`without a rate\t${unconverted.join(', ')}`]),
    ...tables,
  ].join('\n')
}

function describeProgress({ progress: { counting, behindSince } }: Read): string[] {
  if (counting !== null)
    return [`Incomplete: ${counting.counted} of ${counting.total} purchases are counted.`]
  return behindSince === null ? [] : [`Counted up to ${behindSince.toISOString()}.`]
}

function formatAmount(thousandths: number, currency: string): string {
  const { maximumFractionDigits: digits = 2 } = new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
  }).resolvedOptions()
  return `${(thousandths / 1000).toFixed(digits)} ${currency}`
}

function signed(value: number): string {
  return value > 0 ? `+${value}` : String(value)
}

export const businessCommands = [showFigures]
