import { and, asc, between, eq, inArray, sum } from 'drizzle-orm'
import { type Catalogue, type PurchasablePlan, planOf } from '../access/plan-matching.ts'
import type { Environment } from '../environment.ts'
import { EMPTY_PURCHASE } from '../purchases/purchase.ts'
import type { BillingDb } from '../schema.ts'
import { createConversion, type ReadRates } from './conversion.ts'
import type { Counting } from './counting.ts'
import { amountsIn, convertShare, createPayments, paymentsByCurrency } from './payments.ts'
import { BALANCES, BREAKDOWNS, FLOWS } from './sums.ts'

type FiguresDeps = {
  db: BillingDb
  listPlans: (wanted: string[]) => Promise<Catalogue<PurchasablePlan & { name?: string }>>
  readRates: ReadRates
  /** The currency of the figures unless another one is chosen. */
  ratesBase: string
  readProgress: Counting['readProgress']
  now: () => Date
}

export type Figures = ReturnType<typeof createFigures>

export type FiguresQuery = {
  /** `2026-10`; the current month by default. */
  month?: string | undefined
  currency?: string | undefined
  environment?: Environment | undefined
}

/** The figures of a month, or of a part of it. Amounts are in thousandths of the chosen currency. */
type MonthFigures = { month: string } & Record<
  (typeof BALANCES)[number] | (typeof FLOWS)[number],
  number
> & {
    /** What the active subscriptions pay per month. */
    recurring: number
    paid: number
    refunded: number
  }

type Breakdown = (typeof BREAKDOWNS)[number]
type BreakdownRow = { name: string; active: number; new: number; churned: number; revenue: number }
type Row = { series: string; period: string; item: string; sum: number }

const MONTHS_SHOWN = 13
const LAST_DAY = '31'

/** Reads the business figures from their sums. Bounded: it never reads events or purchases. */
export function createFigures(deps: FiguresDeps) {
  const { db, listPlans, readRates, ratesBase, readProgress, now } = deps
  const { businessSums } = db.tables
  const { environment: environmentColumn, series, period, item } = businessSums
  const payments = createPayments(db)
  return { read }

  /** Months in the future count as the current one, whose figures last until today (UTC). */
  async function read({ month: wanted, currency = ratesBase, environment }: FiguresQuery) {
    const stored = environment === 'sandbox' ? 'SANDBOX' : 'PRODUCTION'
    const today = now().toISOString().slice(0, 10)
    const current = today.slice(0, 7)
    const month = wanted !== undefined && wanted < current ? wanted : current
    const isCurrent = month === current
    const months = Array.from({ length: MONTHS_SHOWN }, (_, at) =>
      addMonths(month, at + 1 - MONTHS_SHOWN),
    )
    const [first = month] = months
    const lastMonth = addMonths(month, -1)
    const until = isCurrent ? today : `${month}-${LAST_DAY}`
    const conversion = createConversion(await readRates(`${first}-01`, until), currency)
    const sameDay = isCurrent ? lastMonth + today.slice(7) : `${lastMonth}-${LAST_DAY}`
    const parts = months.map((each): [string, string] => [each, `${each}-${LAST_DAY}`])
    const paid = await payments.readMonths(
      stored,
      [...parts.slice(0, -1), [month, until], [lastMonth, sameDay]],
      conversion,
    )
    const nothing = { amounts: [], firstDay: null }
    const [chosen = nothing, before = nothing] = paid.slice(-2)
    return {
      month,
      currency,
      environment: environment ?? 'production',
      /** The last day that counts; only the current month is incomplete. */
      until: isCurrent ? today : null,
      firstMonth: await firstMonth(),
      currencies: await currencies(),
      progress: await readProgress(),
      ...(await readHistory()),
      breakdowns: await readBreakdowns(),
      cohorts: await readCohorts(),
    }

    /** The months, and the flows of the month before up to the same day. */
    async function readHistory() {
      const flows = await rowsBetween(FLOWS.map(monthly), first, month)
      const soFar = isCurrent ? await daysBetween(`${month}-01`, today) : []
      const balances = await readBalances(soFar)
      const figures = months.map((each, at) => {
        const isPart = isCurrent && each === month
        const counted = isPart ? soFar : flows.filter((row) => row.period === each)
        return { month: each, ...flowsIn(counted), ...balances[at], ...amountsIn(paid[at]) }
      }) as MonthFigures[]
      const days = paid.flatMap(({ firstDay }) => firstDay ?? []).toSorted()
      const { oldest } = conversion
      return {
        months: figures,
        before: {
          ...flowsIn(await daysBetween(`${lastMonth}-01`, sameDay)),
          ...amountsIn(before),
        },
        payments: paymentsByCurrency(chosen),
        /** The currencies of amounts without a rate. */
        unconverted: [
          ...new Set(
            paid.flatMap(({ amounts }) =>
              amounts.filter(({ to }) => to === null).map((amount) => amount.currency),
            ),
          ),
        ].toSorted(),
        /** The day of the oldest rates, if payments are older. */
        ratesSince: oldest !== null && days[0] !== undefined && oldest > days[0] ? oldest : null,
      }
    }

    /** The balances at the end of each month, from the changes in all months until then. */
    async function readBalances(soFar: Row[]) {
      const names = [...BALANCES, 'recurring'].map(monthly)
      const known = new Map<string, number>()
      const addAll = (rows: Row[]) => {
        for (const row of rows) {
          const key = `${nameOf(row)} ${row.item}`
          known.set(key, (known.get(key) ?? 0) + row.sum)
        }
      }
      addAll(await totals(names, '', addMonths(first, -1)))
      const changes = await rowsBetween(names, first, month)
      return months.map((each) => {
        const isPart = isCurrent && each === month
        addAll(isPart ? soFar : changes.filter((row) => row.period === each))
        const day = isPart ? today : `${each}-${LAST_DAY}`
        let recurring = 0
        for (const [key, amount] of known) {
          if (!key.startsWith('recurring ')) continue
          recurring += amount * (conversion.rateOn(key.slice(10), day) ?? 0)
        }
        const [active = 0, trials = 0] = BALANCES.map((name) => known.get(`${name} `))
        return { active, trials, recurring: Math.round(recurring) }
      })
    }

    async function readBreakdowns() {
      const withBreakdown = (names: string[], unit: string) =>
        names.flatMap((name) => BREAKDOWNS.map((breakdown) => `${name}.${breakdown}.${unit}`))
      const unit = isCurrent ? 'day' : 'month'
      const from = isCurrent ? `${month}-01` : month
      const rows = [
        ...(await totals(withBreakdown(['active'], 'month'), '', isCurrent ? lastMonth : month)),
        ...(isCurrent ? await totals(withBreakdown(['active'], 'day'), from, until) : []),
        ...(await totals(withBreakdown(['new', 'churned'], unit), from, until)),
        ...(await totals(withBreakdown(['paid', 'refunded'], 'month'), month, month)),
      ]
      const catalogue = await listPlans([])
      const tables: Record<Breakdown, BreakdownRow[]> = { plan: [], store: [], country: [] }
      for (const row of rows) {
        const [figure, breakdown = 'plan'] = row.series.split('.') as [string, Breakdown]
        const isAmount = figure === 'paid' || figure === 'refunded'
        const value = isAmount ? row.item.slice(row.item.indexOf(' ') + 1) : row.item
        const name = breakdown === 'plan' ? planName(value, catalogue) : value
        const entry =
          tables[breakdown].find((one) => one.name === name) ?? newRow(tables[breakdown], name)
        if (isAmount) {
          const amount = convertShare(chosen, figure, row.item.slice(0, 3), row.sum)
          entry.revenue += figure === 'paid' ? amount : -amount
        } else entry[figure as 'active' | 'new' | 'churned'] += row.sum
      }
      for (const table of Object.values(tables)) {
        table.sort(
          (a, b) => b.active - a.active || b.revenue - a.revenue || (a.name < b.name ? -1 : 1),
        )
        for (const row of table) row.revenue = Math.round(row.revenue)
      }
      return tables
    }

    /** By the month of the first payment: how many subscriptions were paid for each month later. */
    async function readCohorts() {
      const rows = await rowsBetween(['cohort'], first, month)
      return months.map((cohort) => {
        const own = rows.filter((row) => row.period === cohort)
        const lengths = months.filter((_, at) => at === 0 || addMonths(cohort, at + 1) < current)
        return {
          month: cohort,
          retained: lengths.map((_, at) => own.find((row) => Number(row.item) === at)?.sum ?? 0),
        }
      })
    }

    /** The part of a month that the day's rows cover. */
    function daysBetween(from: string, to: string) {
      return totals([...FLOWS, ...BALANCES, 'recurring'].map(daily), from, to)
    }

    async function rowsBetween(names: string[], from: string, to: string): Promise<Row[]> {
      return await db.read
        .select({ series, period, item, sum: businessSums.sum })
        .from(businessSums)
        .where(isWithin(names, from, to))
        .orderBy(asc(series), asc(period), asc(item))
    }

    /** The sums over all periods. */
    async function totals(names: string[], from: string, to: string): Promise<Row[]> {
      const rows = await db.read
        .select({ series, item, sum: sum(businessSums.sum) })
        .from(businessSums)
        .where(isWithin(names, from, to))
        .groupBy(series, item)
      return rows.map((row) => ({ ...row, period: '', sum: Number(row.sum) }))
    }

    function isWithin(names: string[], from: string, to: string) {
      return and(eq(environmentColumn, stored), inArray(series, names), between(period, from, to))
    }

    async function firstMonth(): Promise<string> {
      const found = [current]
      for (const name of ['active', 'trials', 'paid']) {
        const [row] = await db.read
          .select({ period })
          .from(businessSums)
          .where(and(eq(environmentColumn, stored), eq(series, monthly(name))))
          .orderBy(asc(period))
          .limit(1)
        if (row) found.push(row.period)
      }
      return found.toSorted()[0] ?? current
    }

    /** The currencies of all payments, and the one of the rates. */
    async function currencies(): Promise<string[]> {
      const rows = await db.read
        .selectDistinct({ item })
        .from(businessSums)
        .where(and(eq(environmentColumn, stored), eq(series, monthly('paid'))))
      return [...new Set([ratesBase, ...rows.map((row) => row.item)])].toSorted()
    }
  }
}

function flowsIn(rows: Row[]) {
  const totalOf = (name: string) => rows.find((row) => nameOf(row) === name)?.sum ?? 0
  const entries = FLOWS.map((name) => [name, totalOf(name)] as const)
  return Object.fromEntries(entries) as Record<(typeof FLOWS)[number], number>
}

function newRow(rows: BreakdownRow[], name: string): BreakdownRow {
  const row = { name, active: 0, new: 0, churned: 0, revenue: 0 }
  rows.push(row)
  return row
}

/** The name of the plan with an offer, or else its product. */
function planName(
  offer: string,
  catalogue: Catalogue<PurchasablePlan & { name?: string }>,
): string {
  const [productId, priceId, entitlementIds] = JSON.parse(offer) as [
    string | null,
    string | null,
    string[],
  ]
  const plan = planOf({ ...EMPTY_PURCHASE, productId, priceId, entitlementIds }, catalogue)
  return plan?.name ?? plan?.code ?? productId ?? ''
}

function nameOf({ series }: { series: string }): string {
  return series.slice(0, series.indexOf('.'))
}

function monthly(name: string): string {
  return `${name}.month`
}

function daily(name: string): string {
  return `${name}.day`
}

function addMonths(month: string, by: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return new Date(Date.UTC(year, number - 1 + by, 1)).toISOString().slice(0, 7)
}
