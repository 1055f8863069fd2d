import { countryName, number, plural } from '../../format.ts'
import { Card, Empty } from '../../ui/parts.tsx'
import { storeName } from '../purchases/labels.ts'
import { type Business, createMoneyFormat, monthName } from './labels.ts'

type Row = Business['breakdowns']['plan'][number]
type Props = { business: Business }

const ROWS_SHOWN = 10
/** Shades are steps of a tenth; the number beside them says the same. */
const SHADES = 10

/** The payments of the month, in the currencies that customers have paid with. */
export function Payments({ business: { payments, month } }: Props) {
  return (
    <Card title={`Payments in ${monthName(month)}, in their original currency`}>
      {payments.length === 0 ? (
        <Empty>No payments with a known price.</Empty>
      ) : (
        <Table label="Payments" columns={['Currency', 'Paid', 'Refunded', 'Revenue']}>
          {payments.map(({ currency, paid, refunded }) => {
            const money = createMoneyFormat(currency)
            return (
              <tr key={currency}>
                <th scope="row">{currency}</th>
                {[paid, refunded, paid - refunded].map((amount, at) => (
                  <td key={at} class="number">
                    {money(amount)}
                  </td>
                ))}
              </tr>
            )
          })}
        </Table>
      )}
    </Card>
  )
}

export function Breakdowns({ business: { breakdowns, currency } }: Props) {
  const { plan, store, country } = breakdowns
  const named = (rows: Row[], nameOf: (name: string) => string) =>
    rows.map((row) => ({ ...row, name: nameOf(row.name) }))
  return (
    <>
      <Breakdown
        title="By plan"
        first="Plan"
        rows={named(plan, (name) => name || 'Unknown product')}
        currency={currency}
      />
      <Breakdown
        title="By store"
        first="Store"
        rows={named(store, (name) => storeName(name || null))}
        currency={currency}
      />
      <Breakdown
        title="By country"
        first="Country"
        rows={named(country, countryName)}
        currency={currency}
      />
    </>
  )
}

type BreakdownProps = { title: string; first: string; rows: Row[]; currency: string }

function Breakdown({ title, first, rows, currency }: BreakdownProps) {
  const money = createMoneyFormat(currency)
  const columns = [first, 'Active', 'New', 'Churned', 'Revenue']
  const renderRows = (some: Row[]) =>
    some.map((row) => (
      <tr key={row.name}>
        <th scope="row">{row.name}</th>
        <td class="number">{number(row.active)}</td>
        <td class="number">{number(row.new)}</td>
        <td class="number">{number(row.churned)}</td>
        <td class="number">{money(row.revenue)}</td>
      </tr>
    ))
  const others = rows.slice(ROWS_SHOWN)
  return (
    <Card title={title}>
      {rows.length === 0 ? (
        <Empty>No subscriptions or payments.</Empty>
      ) : (
        <Table label={title} columns={columns}>
          {renderRows(rows.slice(0, ROWS_SHOWN))}
        </Table>
      )}
      {others.length > 0 && (
        <details>
          <summary>{plural(others.length, 'more row')}</summary>
          <Table label={`${title}, continued`} columns={columns}>
            {renderRows(others)}
          </Table>
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
        <Table
          label="Retention"
          columns={['First payment', 'Subscriptions', ...later.map((at) => `Month ${at}`)]}
        >
          {filled.toReversed().map(({ month, retained: [size = 0, ...retained] }) => (
            <tr key={month}>
              <th scope="row">{monthName(month)}</th>
              <td class="number">{number(size)}</td>
              {later.map((at) => (
                <Retained key={at} count={retained[Number(at) - 1]} size={size} />
              ))}
            </tr>
          ))}
        </Table>
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

type TableProps = { label: string; columns: string[]; children: preact.ComponentChildren }

/** A table whose columns after the first are numbers. It scrolls sideways on a phone. */
function Table({ label, columns: [first, ...numbers], children }: TableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{first}</th>
            {numbers.map((name) => (
              <th key={name} scope="col" class="number">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  )
}
