import { clock, LOCALE, number, plural } from '../../format.ts'
import { go, linkTo, readFilters } from '../../router.ts'
import { SelectField } from '../../ui/fields.tsx'
import { Title } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { type Business, createMoneyFormat, dayName, type Money, monthName } from './labels.ts'
import { Breakdowns, Cohorts, Payments } from './tables.tsx'

type MonthFigures = Business['months'][number]

const SPARK = { width: 120, height: 32 }

/** What the business earns: the figures of a month, beside those of the month before. */
export function Screen() {
  const { filter, search } = readFilters(['month', 'currency', 'environment'])
  const figures = useRemote<Business>(`business${search}`)
  return (
    <>
      <Title>Business</Title>
      <Loaded from={figures}>
        {(business) => (
          <>
            <Choices business={business} filter={filter} />
            <Notes business={business} />
            <Tiles business={business} />
            <Payments business={business} />
            <Breakdowns business={business} />
            <Cohorts business={business} />
          </>
        )}
      </Loaded>
    </>
  )
}

type ChoicesProps = { business: Business; filter: Record<string, string> }

function Choices({ business, filter }: ChoicesProps) {
  const { month, currency, environment, firstMonth, currencies } = business
  const choose = (name: string) => (value: string) =>
    go(linkTo('business', { ...filter, [name]: value }))
  const codes = currencies.includes(currency) ? currencies : [...currencies, currency]
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()} aria-label="Filters">
      <SelectField
        label="Month"
        value={month}
        options={monthsSince([month, firstMonth].toSorted()[0] ?? month).map((each) => [
          each,
          monthName(each),
        ])}
        onChange={choose('month')}
      />
      <SelectField
        label="Currency"
        value={currency}
        options={codes.map((code) => [code, code])}
        onChange={choose('currency')}
      />
      <SelectField
        label="Purchases"
        value={environment}
        options={[
          ['production', 'Production'],
          ['sandbox', 'Test purchases'],
        ]}
        onChange={choose('environment')}
      />
    </form>
  )
}

/** What the figures leave out. */
function Notes({ business }: { business: Business }) {
  const { progress, unconverted, ratesSince, currency, until, months } = business
  const { counting, behindSince } = progress
  const unpriced = months.at(-1)?.unpriced ?? 0
  const notes = [
    counting &&
      `These figures are incomplete: ${number(counting.counted)} of about ${number(counting.total)} purchases are counted so far.`,
    behindSince && `These figures include events up to ${clock(behindSince)}.`,
    unconverted.length > 0 &&
      `Amounts in ${unconverted.join(', ')} are not included, because there is no exchange rate to ${currency}. RATES_PROVIDER=ecb,open-er-api supports more currencies.`,
    ratesSince &&
      `The oldest stored rates are from ${dayName(ratesSince)}. Earlier payments are converted at those rates.`,
    unpriced > 0 &&
      `Revenue does not include ${plural(unpriced, 'payment')} whose price is unknown.`,
  ].filter(Boolean)
  return (
    <>
      {until && <p class="soft">Up to {dayName(until)} (UTC).</p>}
      {notes.map((note) => (
        <p key={note} class="notice">
          {note}
        </p>
      ))}
    </>
  )
}

function Tiles({ business }: { business: Business }) {
  const { months, before, currency, until } = business
  const money = createMoneyFormat(currency)
  const [last, now] = months.slice(-2)
  if (!now || !last) return null
  const computeRevenue = ({ paid, refunded }: Money) => paid - refunded
  const atEnd = `at the end of ${monthName(last.month)}`
  const inMonth = `${until === null ? 'in' : 'on the same days of'} ${monthName(last.month)}`
  const churnRate = last.active > 0 ? now.churned / last.active : null
  const buildSeries = (figureIn: (figures: MonthFigures) => number) => months.map(figureIn)
  const tiles: TileProps[] = [
    {
      name: 'Active subscriptions',
      help: 'Paid subscriptions that have not ended, at the end of the month. Includes cancelled ones until they end, and grace periods. Trials and one-time purchases do not count.',
      values: buildSeries(({ active }) => active),
      change: formatChange(now.active, last.active, atEnd),
    },
    {
      name: 'Revenue',
      help: 'What customers paid in the month, before fees and taxes, minus refunds made in the month. Includes one-time purchases.',
      values: buildSeries(computeRevenue),
      format: money,
      change: formatChange(computeRevenue(now), computeRevenue(before), inMonth, money),
      note: `${money(now.paid)} paid, ${money(now.refunded)} refunded`,
    },
    {
      name: 'Monthly recurring revenue',
      help: 'What active subscriptions bring in per month: a yearly price counts as one twelfth.',
      values: buildSeries(({ recurring }) => recurring),
      format: money,
      change: formatChange(now.recurring, last.recurring, atEnd, money),
    },
    {
      name: 'New subscriptions',
      help: 'Subscriptions that were paid for the first time, including after a trial.',
      values: buildSeries((figures) => figures.new),
      change: formatChange(now.new, before.new, inMonth),
    },
    {
      name: 'Churned',
      help: 'Subscriptions whose paid period ended without a renewal, or that were refunded. The rate is relative to those active at the start of the month.',
      values: buildSeries(({ churned }) => churned),
      change: formatChange(now.churned, before.churned, inMonth),
      note: churnRate === null ? '' : `${percent(churnRate)} of the active subscriptions`,
    },
    {
      name: 'Recovered',
      help: 'Subscriptions that were paid again after they had ended: the store’s retry succeeded, or the customer came back. “Saved” counts subscriptions paid late, but before they ended.',
      values: buildSeries(({ recovered }) => recovered),
      change: formatChange(now.recovered, before.recovered, inMonth),
      note: `${number(now.saved)} saved before ending`,
    },
    {
      name: 'Active trials',
      help: 'Free trials that have not ended, at the end of the month.',
      values: buildSeries(({ trials }) => trials),
      change: formatChange(now.trials, last.trials, atEnd),
    },
    {
      name: 'Trials started',
      help: 'Free trials that began in the month. “Converted” counts first payments after a trial, whenever it began.',
      values: buildSeries(({ trialStarts }) => trialStarts),
      change: formatChange(now.trialStarts, before.trialStarts, inMonth),
      note: `${number(now.converted)} converted`,
    },
  ]
  return (
    <div class="tiles">
      {tiles.map((tile) => (
        <Tile key={tile.name} {...tile} />
      ))}
    </div>
  )
}

type TileProps = {
  name: string
  help: string
  /** One for each month; the last one is shown as text. */
  values: number[]
  format?: (value: number) => string
  change: string
  note?: string
}

function Tile({ name, help, values, format = number, change, note }: TileProps) {
  return (
    <section class="tile figure" aria-label={name}>
      <h2 class="soft">{name}</h2>
      <details class="help">
        <summary aria-label={`What “${name}” means`}>?</summary>
        <p class="soft">{help}</p>
      </details>
      <strong>{format(values.at(-1) ?? 0)}</strong>
      <Sparkline
        values={values}
        label={`${name}, ${values.length} months: ${values.map(format).join(', ')}`}
      />
      <span class="soft">{change}</span>
      {note && <span class="soft">{note}</span>}
    </section>
  )
}

function Sparkline({ values, label }: { values: number[]; label: string }) {
  const { width, height } = SPARK
  const top = Math.max(...values, 1)
  const bottom = Math.min(...values, 0)
  const toPoint = (value: number, at: number) => {
    const x = (at / (values.length - 1)) * (width - 4) + 2
    const y = height - 2 - ((value - bottom) / (top - bottom)) * (height - 4)
    return `${x.toFixed(1)},${y.toFixed(1)}`
  }
  return (
    <svg class="spark" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <polyline points={values.map(toPoint).join(' ')} />
    </svg>
  )
}

/** `+8% · 120 at the end of September 2026`. */
function formatChange(now: number, before: number, when: string, format = number): string {
  const known = `${format(before)} ${when}`
  if (now === before) return `No change · ${known}`
  if (before <= 0) return known
  return `${now > before ? '+' : '−'}${percent(Math.abs(now - before) / before)} · ${known}`
}

function percent(share: number): string {
  return share.toLocaleString(LOCALE, { style: 'percent', maximumFractionDigits: 1 })
}

/** Newest first. */
function monthsSince(first: string): string[] {
  const months: string[] = []
  const today = new Date()
  for (let at = 0; ; at++) {
    const start = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - at, 1)
    const month = new Date(start).toISOString().slice(0, 7)
    months.push(month)
    if (month <= first) return months
  }
}
