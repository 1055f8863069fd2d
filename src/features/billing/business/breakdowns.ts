import {
  type Catalogue,
  findPlanOfPurchase,
  type PurchasablePlan,
  parseOffer,
} from '../access/plan-matching.ts'
import { convertShare, type MonthPayments } from './payments.ts'
import type { SumRow, SumRows } from './sum-rows.ts'
import { BREAKDOWNS } from './sums.ts'

export type NamedPlan = PurchasablePlan & { name?: string }

type Breakdown = (typeof BREAKDOWNS)[number]
type BreakdownRow = { name: string; active: number; new: number; churned: number; revenue: number }

type BreakdownsInput = {
  sums: SumRows
  /** `today` is set only for the current month, which is counted by day. */
  span: { month: string; lastMonth: string; today: string | null }
  catalogue: Catalogue<NamedPlan>
  payments: MonthPayments
}

/** The rows of each breakdown, largest first. */
export async function readBreakdowns({ sums, span, catalogue, payments }: BreakdownsInput) {
  const tables: Record<Breakdown, BreakdownRow[]> = { plan: [], store: [], country: [] }
  for (const row of await readBreakdownSums(sums, span)) {
    const [figure, breakdown = 'plan'] = row.series.split('.') as [string, Breakdown]
    const isAmount = figure === 'paid' || figure === 'refunded'
    const value = isAmount ? row.item.slice(row.item.indexOf(' ') + 1) : row.item
    const name = breakdown === 'plan' ? planName(value, catalogue) : value
    const entry =
      tables[breakdown].find((one) => one.name === name) ?? addRow(tables[breakdown], name)
    if (isAmount) {
      const amount = convertShare(payments, figure, row.item.slice(0, 3), row.sum)
      entry.revenue += figure === 'paid' ? amount : -amount
    } else entry[figure as 'active' | 'new' | 'churned'] += row.sum
  }
  for (const table of Object.values(tables)) {
    table.sort((a, b) => b.active - a.active || b.revenue - a.revenue || (a.name < b.name ? -1 : 1))
    for (const row of table) row.revenue = Math.round(row.revenue)
  }
  return tables
}

async function readBreakdownSums(
  sums: SumRows,
  { month, lastMonth, today }: BreakdownsInput['span'],
): Promise<SumRow[]> {
  const series = (names: string[], unit: string) =>
    names.flatMap((name) => BREAKDOWNS.map((breakdown) => `${name}.${breakdown}.${unit}`))
  const [active, changes, amounts] = [['active'], ['new', 'churned'], ['paid', 'refunded']]
  const counts =
    today === null
      ? [
          sums.totals(series(active, 'month'), '', month),
          sums.totals(series(changes, 'month'), month, month),
        ]
      : [
          sums.totals(series(active, 'month'), '', lastMonth),
          sums.totals(series([...active, ...changes], 'day'), `${month}-01`, today),
        ]
  return (
    await Promise.all([...counts, sums.totals(series(amounts, 'month'), month, month)])
  ).flat()
}

function addRow(rows: BreakdownRow[], name: string): BreakdownRow {
  const row = { name, active: 0, new: 0, churned: 0, revenue: 0 }
  rows.push(row)
  return row
}

/** The name of the plan that sells the offer, or the product id if there is none. */
function planName(text: string, catalogue: Catalogue<NamedPlan>): string {
  const offer = parseOffer(text)
  const plan = findPlanOfPurchase(offer, catalogue)
  return plan?.name ?? plan?.code ?? offer.productId ?? ''
}
