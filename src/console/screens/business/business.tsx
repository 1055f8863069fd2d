import type { ComponentChildren } from 'preact'
import { clock, number, plural } from '../../format.ts'
import { go, query, readFilters, withQuery } from '../../router.ts'

import { SelectField } from '../../ui/fields.tsx'
import { Title } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { Bars } from '../metrics/bars.tsx'
import { Chart } from '../metrics/chart.tsx'
import { DEFAULT_FIGURE, FIGURES, type Figure } from './figures.ts'
import { type Business, createMoneyFormat, dayName, monthName, percent } from './labels.ts'
import { Breakdowns, Cohorts, Payments } from './tables.tsx'

/** The business figures of a month, beside those of the month before. */
export function Screen() {
  const { search } = readFilters(['month', 'currency', 'environment'])
  const figures = useRemote<Business>(`business${search}`)
  const wanted = query.value.get('figure') ?? DEFAULT_FIGURE
  const chosen = wanted in FIGURES ? wanted : DEFAULT_FIGURE
  return (
    <>
      <Title>Business</Title>
      <Loaded from={figures}>
        {(business) => (
          <>
            <Choices business={business} />
            <Notes business={business} />
            <Figures business={business} chosen={chosen} />
            <Breakdowns business={business} chosen={chosen} />
            <Payments business={business} />
            <Cohorts business={business} />
          </>
        )}
      </Loaded>
    </>
  )
}

function Choices({ business }: { business: Business }) {
  const { month, currency, environment, firstMonth, currencies } = business
  const choose = (name: string) => (value: string) => go(withQuery({ [name]: value }))
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

/** Notes on payments and events that the figures leave out. */
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

type FiguresProps = { business: Business; chosen: string }

/** The chart of the chosen figure, above the cards that choose it. */
function Figures({ business, chosen }: FiguresProps) {
  const { months, before, currency, until } = business
  const [last, now] = months.slice(-2)
  const figure = FIGURES[chosen]
  if (!now || !last || !figure) return null
  const money = createMoneyFormat(currency)
  const month = monthName(last.month)
  const inMonth = `${until === null ? 'in' : 'on the same days of'} ${month}`
  const isMovement = chosen === 'new' || chosen === 'churned'
  const points = months.map((each) => {
    return { value: figure.measure(each), new: each.new, churned: -each.churned }
  })
  const look = {
    tone: 'accent',
    ...(figure.isBalance ? { isWide: true } : { isBar: true }),
  } as const
  return (
    <>
      <Chart
        title={isMovement ? 'New and churned subscriptions' : figure.name}
        series={
          isMovement
            ? [
                { name: 'new', label: 'new', tone: 'accent', isBar: true },
                { name: 'churned', label: 'churned', tone: 'bad', isBar: true },
              ]
            : [{ name: 'value', label: figure.name.toLowerCase(), ...look }]
        }
        steps={{ from: 0, stepMs: 1, current: points, earlier: {} }}
        labels={{
          short: months.map((each) => monthName(each.month, 'short')),
          full: months.map((each) => monthName(each.month)),
        }}
        height={320}
        format={figure.isAmount ? money : formatAbsolute}
        formatShort={figure.isAmount ? createMoneyFormat(currency, 'compact') : formatAbsolute}
        isCount={!figure.isAmount}
      />
      <div class="tiles pairs">
        {Object.entries(FIGURES).map(([id, each]) => {
          const { measure, isBalance, isBad = false, note } = each
          const format = each.isAmount ? money : number
          const [value, earlier] = [
            measure(now),
            measure(isBalance ? last : { ...last, ...before }),
          ]
          return (
            <Card
              key={id}
              figure={each}
              href={withQuery({ figure: id === DEFAULT_FIGURE ? '' : id })}
              isChosen={id === chosen}
              value={format(value)}
              months={months.map((one) => ({ name: monthName(one.month), values: [measure(one)] }))}
              format={format}
            >
              <Change now={value} before={earlier} isBad={isBad} />
              {`${format(earlier)} ${isBalance ? `at the end of ${month}` : inMonth}`}
              {note && <span class="soft">{note(now, last, money)}</span>}
            </Card>
          )
        })}
      </div>
    </>
  )
}

type CardProps = {
  figure: Figure
  href: string
  isChosen: boolean
  value: string
  months: { name: string; values: number[] }[]
  format: (value: number) => string
  children: ComponentChildren
}

function Card({
  figure: { name, help },
  href,
  isChosen,
  value,
  months,
  format,
  children,
}: CardProps) {
  return (
    <section class="tile figure" aria-label={name}>
      <h2 class="soft">
        <a href={href} aria-current={isChosen ? 'true' : undefined}>
          {name}
        </a>
      </h2>
      <details class="help">
        <summary aria-label={`What “${name}” means`}>?</summary>
        <p class="soft">{help}</p>
      </details>
      <strong>{value}</strong>
      <Bars label={name} steps={months} tones={['accent']} format={format} />
      <span class="soft">{children}</span>
    </section>
  )
}

/** `+8% · `, coloured by whether the change is good or bad for the business. */
function Change({ now, before, isBad }: { now: number; before: number; isBad: boolean }) {
  if (now === before) return <>No change · </>
  if (before <= 0) return null
  return (
    <>
      <b class={now > before === isBad ? 'bad' : 'good'}>
        {now > before ? '+' : '−'}
        {percent(Math.abs(now - before) / before)}
      </b>
      {' · '}
    </>
  )
}

/** Churned subscriptions are drawn below zero. */
function formatAbsolute(value: number): string {
  return number(Math.abs(value))
}

/** The months since `first`, newest first. */
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
