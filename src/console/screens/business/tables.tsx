import { countryName, number, plural } from '../../format.ts'
import { Card, Empty, List } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { storeName } from '../purchases/labels.ts'
import { type Business, createMoneyFormat, monthName, percent } from './labels.ts'

type Row = Business['breakdowns']['plan'][number]
type Payment = Business['payments'][number]
type Props = { business: Business }
type Measure = 'active' | 'new' | 'churned' | 'revenue'

/** The measure that the breakdowns show for a figure; revenue for all other figures. */
const MEASURES: Record<string, Measure> = { active: 'active', new: 'new', churned: 'churned' }
const COUNTS = ['active', 'new', 'churned'] as const

const ROWS_SHOWN = 10
/** Shades are steps of a tenth; the number beside them says the same. */
const SHADES = 10

/** The payments of the month, in the currencies in which customers paid. */
export function Payments({ business: { payments, month } }: Props) {
  const amount = (name: string, amountOf: (payment: Payment) => number): Column<Payment> => {
    const cell = (row: Payment) => createMoneyFormat(row.currency)(amountOf(row))
    return { name, kind: 'number', cell }
  }
  return (
    <Card title={`Payments in ${monthName(month)}, in their original currency`}>
      <Table
        caption="Payments"
        columns={[
          { name: 'Currency', field: 'currency' },
          amount('Paid', ({ paid }) => paid),
          amount('Refunded', ({ refunded }) => refunded),
          amount('Revenue', ({ paid, refunded }) => paid - refunded),
        ]}
        rows={payments}
        keyOf={({ currency }) => currency}
        empty="No payments with a known price."
      />
    </Card>
  )
}

/** The shares of plans, stores and countries in the chosen figure. */
export function Breakdowns({ business, chosen }: Props & { chosen: string }) {
  const { plan, store, country } = business.breakdowns
  const shared = { business, measure: MEASURES[chosen] ?? 'revenue' }
  return (
    <div class="charts">
      <Breakdown
        {...shared}
        title="By plan"
        rows={plan}
        nameOf={(name) => name || 'Unknown product'}
      />
      <Breakdown
        {...shared}
        title="By store"
        rows={store}
        nameOf={(name) => storeName(name || null)}
      />
      <Breakdown {...shared} title="By country" rows={country} nameOf={countryName} />
    </div>
  )
}

type BreakdownProps = Props & {
  title: string
  rows: Row[]
  measure: Measure
  nameOf: (name: string) => string
}

function Breakdown({ title, rows, measure, nameOf, business: { currency } }: BreakdownProps) {
  const money = createMoneyFormat(currency)
  const total = rows.reduce((sum, row) => sum + Math.max(row[measure], 0), 0)
  const sorted = rows.toSorted((a, b) => b[measure] - a[measure])
  const renderRow = (row: Row) => {
    const share = total === 0 ? 0 : Math.max(row[measure], 0) / total
    const counts = COUNTS.map((count) => `${number(row[count])} ${count}`).join(', ')
    return (
      <li key={row.name}>
        <span>{nameOf(row.name)}</span>
        <span>
          {measure === 'revenue' ? money(row.revenue) : number(row[measure])}{' '}
          <span class="soft">{percent(share)}</span>
        </span>
        <div class="wide share" style={{ '--share': share }} />
        <span class="wide soft">
          {measure === 'revenue' ? counts : `${counts}, ${money(row.revenue)}`}
        </span>
      </li>
    )
  }
  const others = sorted.slice(ROWS_SHOWN)
  return (
    <Card title={title}>
      <List items={sorted.slice(0, ROWS_SHOWN)} empty="No subscriptions or payments.">
        {renderRow}
      </List>
      {others.length > 0 && (
        <details>
          <summary>{plural(others.length, 'more row')}</summary>
          <List items={others}>{renderRow}</List>
        </details>
      )}
    </Card>
  )
}

/** How many subscriptions were still paid for each month after their first payment. */
export function Cohorts({ business: { cohorts } }: Props) {
  const filled = cohorts.filter(({ retained }) => (retained[0] ?? 0) > 0)
  const longest = Math.max(0, ...filled.map(({ retained }) => retained.length - 1))
  const later = Array.from({ length: longest }, (_, at) => String(at + 1))
  return (
    <Card title="Retention by month of first payment">
      {filled.length === 0 ? (
        <Empty>No first payments in these months.</Empty>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
        <section class="scroll" aria-label="Retention" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">First payment</th>
                {['Subscriptions', ...later.map((at) => `Month ${at}`)].map((name) => (
                  <th key={name} scope="col" class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {filled.toReversed().map(({ month, retained: [size = 0, ...retained] }) => (
                <tr key={month}>
                  <th scope="row">{monthName(month)}</th>
                  <td class="number">{number(size)}</td>
                  {later.map((at) => (
                    <Retained key={at} count={retained[Number(at) - 1]} size={size} />
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Card>
  )
}

function Retained({ count, size }: { count: number | undefined; size: number }) {
  if (count === undefined) return <td />
  const share = count / size
  return (
    <td
      class="number shade"
      style={{ '--shade': Math.round(share * SHADES) }}
      title={plural(count, 'subscription')}
    >
      {Math.round(share * 100)}%
    </td>
  )
}
