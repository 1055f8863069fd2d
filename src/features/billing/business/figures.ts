import type { Catalogue } from '../access/plan-matching.ts'
import { type Environment, storedEnvironment } from '../environment.ts'
import type { BillingDb } from '../schema.ts'
import { type NamedPlan, readBreakdowns } from './breakdowns.ts'
import { createConversion, type ReadRates } from './conversion.ts'
import type { Counting } from './counting.ts'
import { createPayments, listAmounts, paymentsByCurrency } from './payments.ts'
import { createSumRows, type SumRow } from './sum-rows.ts'
import { BALANCES, FLOWS } from './sums.ts'

type FiguresDeps = {
  db: BillingDb
  listPlans: (wanted: string[]) => Promise<Catalogue<NamedPlan>>
  readRates: ReadRates
  /** The default currency. */
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

/** Amounts in thousandths of the chosen currency. */
type MonthFigures = { month: string } & Record<
  (typeof BALANCES)[number] | (typeof FLOWS)[number],
  number
> & {
    /** What the active subscriptions pay per month. */
    recurring: number
    paid: number
    refunded: number
  }

const MONTHS_SHOWN = 13
const LAST_DAY = '31'

/** Reads the business figures from their sums. Bounded: it never reads events or purchases. */
export function createFigures(deps: FiguresDeps) {
  const { db, listPlans, readRates, ratesBase, readProgress, now } = deps
  const payments = createPayments(db)
  return { read }

  /** Months in the future count as the current one, whose figures end today (UTC). */
  async function read({
    month: wanted,
    currency: target = ratesBase,
    environment = 'production',
  }: FiguresQuery) {
    const currency = target.toUpperCase()
    const stored = storedEnvironment(environment)
    const sums = createSumRows(db, stored)
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
      environment,
      /** The last day that counts; only the current month is incomplete. */
      until: isCurrent ? today : null,
      firstMonth: await findFirstMonth(),
      currencies: await listCurrencies(),
      progress: await readProgress(),
      ...(await readHistory()),
      breakdowns: await readBreakdowns({
        sums,
        span: { month, lastMonth, today: isCurrent ? today : null },
        catalogue: await listPlans([]),
        payments: chosen,
      }),
      cohorts: await readCohorts(),
    }

    /** The months, and the flows of the previous month up to the same day. */
    async function readHistory() {
      const flows = await sums.rows(FLOWS.map(monthly), first, month)
      const soFar = isCurrent ? await sumDays(`${month}-01`, today) : []
      const balances = await readBalances(soFar)
      const figures = months.map((each, at) => {
        const isPart = isCurrent && each === month
        const counted = isPart ? soFar : flows.filter((row) => row.period === each)
        return { month: each, ...readFlows(counted), ...balances[at], ...listAmounts(paid[at]) }
      }) as MonthFigures[]
      const days = paid.flatMap(({ firstDay }) => firstDay ?? []).toSorted()
      const { oldest } = conversion
      return {
        months: figures,
        before: {
          ...readFlows(await sumDays(`${lastMonth}-01`, sameDay)),
          ...listAmounts(before),
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
    async function readBalances(soFar: SumRow[]) {
      const names = [...BALANCES, 'recurring'].map(monthly)
      const known = new Map<string, number>()
      const addAll = (rows: SumRow[]) => {
        for (const row of rows) {
          const key = `${readName(row)} ${row.item}`
          known.set(key, (known.get(key) ?? 0) + row.sum)
        }
      }
      addAll(await sums.totals(names, '', addMonths(first, -1)))
      const changes = await sums.rows(names, first, month)
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

    /** How many subscriptions were still paid for in each later month, by the month of their first payment. */
    async function readCohorts() {
      const rows = await sums.rows(['cohort'], first, month)
      return months.map((cohort) => {
        const own = rows.filter((row) => row.period === cohort)
        const lengths = months.filter((_, at) => at === 0 || addMonths(cohort, at + 1) < current)
        return {
          month: cohort,
          retained: lengths.map((_, at) => own.find((row) => Number(row.item) === at)?.sum ?? 0),
        }
      })
    }

    /** The sums of the days from `from` to `to`. */
    function sumDays(from: string, to: string) {
      return sums.totals([...FLOWS, ...BALANCES, 'recurring'].map(daily), from, to)
    }

    async function findFirstMonth(): Promise<string> {
      const names = ['active', 'trials', 'paid'].map(monthly)
      const found = await Promise.all(names.map((name) => sums.firstPeriod(name)))
      return found.reduce<string>((first, each) => (each && each < first ? each : first), current)
    }

    async function listCurrencies(): Promise<string[]> {
      return [...new Set([ratesBase, ...(await sums.items(monthly('paid')))])].toSorted()
    }
  }
}

function readFlows(rows: SumRow[]) {
  const findTotal = (name: string) => rows.find((row) => readName(row) === name)?.sum ?? 0
  const entries = FLOWS.map((name) => [name, findTotal(name)] as const)
  return Object.fromEntries(entries) as Record<(typeof FLOWS)[number], number>
}

function readName({ series }: { series: string }): string {
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
