import { and, asc, between, eq, inArray, sum } from 'drizzle-orm'
import type { StoredEnvironment } from '../environment.ts'
import type { BillingDb } from '../schema.ts'

export type SumRow = { series: string; period: string; item: string; sum: number }
export type SumRows = ReturnType<typeof createSumRows>

/** Reads `business_sums` of one environment. `from` and `to` are both included. */
export function createSumRows(db: BillingDb, environment: StoredEnvironment) {
  const { businessSums } = db.tables
  const { series, period, item } = businessSums
  return { rows, totals, firstPeriod, items }

  async function rows(names: string[], from: string, to: string): Promise<SumRow[]> {
    return await db.read
      .select({ series, period, item, sum: businessSums.sum })
      .from(businessSums)
      .where(isWithin(names, from, to))
      .orderBy(asc(series), asc(period), asc(item))
  }

  async function totals(names: string[], from: string, to: string): Promise<SumRow[]> {
    const found = await db.read
      .select({ series, item, sum: sum(businessSums.sum) })
      .from(businessSums)
      .where(isWithin(names, from, to))
      .groupBy(series, item)
    return found.map((row) => ({ ...row, period: '', sum: Number(row.sum) }))
  }

  async function firstPeriod(name: string): Promise<string | null> {
    const [row] = await db.read
      .select({ period })
      .from(businessSums)
      .where(matchesName(name))
      .orderBy(asc(period))
      .limit(1)
    return row?.period ?? null
  }

  async function items(name: string): Promise<string[]> {
    const found = await db.read.selectDistinct({ item }).from(businessSums).where(matchesName(name))
    return found.map((row) => row.item)
  }

  function matchesName(name: string) {
    return and(eq(businessSums.environment, environment), eq(series, name))
  }

  function isWithin(names: string[], from: string, to: string) {
    return and(
      eq(businessSums.environment, environment),
      inArray(series, names),
      between(period, from, to),
    )
  }
}
