import { and, asc, desc, eq, gt, isNull, lt, lte, or } from 'drizzle-orm'
import { type AppError, invalidField, notFound } from '../../lib/errors.ts'
import type { Renewal } from '../../lib/time/durations.ts'
import { MAX_EXTENSION_MS, periodAt } from '../../lib/time/limit-period.ts'
import type { LimitPeriod } from '../../lib/time/plan-limits.ts'
import { repeatInBatches } from '../../platform/db/batched-changes.ts'
import type { Tx } from '../../platform/db/db.ts'
import {
  type Consumption,
  createConsumption,
  IDEMPOTENCY_MS,
  type LimitReached,
  toLimitState,
} from './consumption.ts'
import { type Counter, createCounters, toMonth } from './counters.ts'
import { createPurchaseCounters } from './purchase-counters.ts'
import type { UsageDb } from './schema.ts'

/** `limit` null: unlimited. */
type PlanLimit = { name: string; period: LimitPeriod; limit: number | null }

/** `purchaseKey` and `renewal` are null if there is no purchase. */
type Allowance = { limits: PlanLimit[]; purchaseKey: string | null; renewal: Renewal | null }

type UsageDeps = {
  db: UsageDb
  isUser: (id: string) => Promise<boolean>
  isUserWithin: (tx: Tx, id: string) => Promise<boolean>
  findAllowance: (userId: string) => Promise<Allowance>
  knownLimits: () => Promise<Map<string, LimitPeriod>>
  onLimitReached: (tx: Tx, userId: string, reached: LimitReached) => Promise<void>
  now: () => Date
}

export type Usage = ReturnType<typeof createUsage>

const HISTORY_MONTHS = 13
const ROWS_PER_CHANGE = 500
const MOST_USED_SHOWN = 50

/** Counts usage, but never beyond a limit. */
export function createUsage(deps: UsageDeps) {
  const { db, isUser, findAllowance, knownLimits, now } = deps
  const { usageCounters, usageHistory, usageRequests } = db.tables
  const counters = createCounters({ db })
  const purchaseCounters = createPurchaseCounters({ db })
  const consumption = createConsumption({ ...deps, counters, purchaseCounters })
  return { consume, read, readHistory, listMostUsed, mergeGuest, archiveAndDeleteOld }

  /** Throws `not_found` for an unknown user, `validation_failed` for a limit that no plan has. */
  async function consume(request: Consumption) {
    const { userId, limit: name } = request
    if (!(await isUser(userId))) throw notFound()
    const { limits, purchaseKey, renewal } = await findAllowance(userId)
    const planLimit = limits.find((limit) => limit.name === name)
    const period = planLimit?.period ?? (await knownLimits()).get(name)
    if (period === undefined) throw unknownLimit()
    const limit = planLimit ? planLimit.limit : 0
    const bounds = periodAt(period, now(), renewal)
    return consumption.consume(request, { limit, bounds, purchaseKey })
  }

  /** What a user has used of each limit of the plan. Throws `not_found` for an unknown user. */
  async function read(userId: string) {
    if (!(await isUser(userId))) throw notFound()
    const { limits, purchaseKey, renewal } = await findAllowance(userId)
    const own = await counters.listCounters(db.read, userId)
    const ofPurchase = purchaseKey === null ? [] : await purchaseCounters.listCounters(purchaseKey)
    const stored = [...own, ...ofPurchase]
    const at = now()
    return limits.map(({ name, period, limit }) => {
      const bounds = periodAt(period, at, renewal)
      const isCurrent = (counter: Pick<Counter, 'name' | 'startsAt'>) =>
        counter.name === name && counter.startsAt.getTime() === bounds.startsAt.getTime()
      const used = Math.max(0, ...stored.filter(isCurrent).map((counter) => counter.used))
      return { name, period, ...toLimitState(used, { limit, bounds }) }
    })
  }

  /** Everything that a user has used, for the export. `since`: a month, or the first day of the last period. */
  async function readHistory(userId: string) {
    const past = await db.read
      .select()
      .from(usageHistory)
      .where(eq(usageHistory.userId, userId))
      .orderBy(asc(usageHistory.name), asc(usageHistory.month))
    const current = await counters.listCounters(db.read, userId)
    return [
      ...past.map(({ name, month, used }) => ({ name, since: month, used })),
      ...current.map(({ name, startsAt, used }) => ({ name, since: toDay(startsAt), used })),
    ]
  }

  /** The users who have used most of a limit in their current periods, and the names of all limits. */
  async function listMostUsed(wanted: string | undefined) {
    const names = [...(await knownLimits()).keys()].toSorted()
    const name = wanted ?? names[0] ?? ''
    const isNotOver = or(isNull(usageCounters.endsAt), gt(usageCounters.endsAt, now()))
    const rows = await db.read
      .select()
      .from(usageCounters)
      .where(and(eq(usageCounters.name, name), gt(usageCounters.used, 0), isNotOver))
      .orderBy(desc(usageCounters.used))
      .limit(MOST_USED_SHOWN)
    const users = rows.map(({ userId, used, reachedLimit, endsAt }) => ({
      userId,
      used,
      hasReachedLimit: reachedLimit !== null,
      resetsAt: endsAt?.toISOString() ?? null,
    }))
    return { names, name, users }
  }

  async function mergeGuest(tx: Tx, guestId: string, userId: string) {
    for (const counter of await counters.listCounters(tx, guestId)) {
      const own = await counters.find(tx, { ...counter, userId })
      const used = counter.used + (own?.used ?? 0)
      await counters.store(tx, { ...counter, ...own, userId, used })
    }
  }

  /** Moves counters of past periods to the history, and deletes old history and outcomes. */
  async function archiveAndDeleteOld(signal: AbortSignal) {
    const at = now()
    // A renewal may be postponed, which extends the period.
    const endedBefore = new Date(at.getTime() - MAX_EXTENSION_MS)
    const isOver = lte(usageCounters.endsAt, endedBefore)
    const isExpired = lt(usageRequests.at, new Date(at.getTime() - IDEMPOTENCY_MS))
    const oldest = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - HISTORY_MONTHS))
    const isTooOld = lt(usageHistory.month, toMonth(oldest))
    const repeat = (work: (tx: Tx) => Promise<number>) =>
      repeatInBatches(db, ROWS_PER_CHANGE, work, signal)
    await repeat(async (tx) => {
      const rows = await tx.select().from(usageCounters).where(isOver).limit(ROWS_PER_CHANGE)
      for (const row of rows) {
        await counters.archive(tx, row)
        await counters.remove(tx, row)
      }
      return rows.length
    })
    await repeat((tx) => purchaseCounters.removeEnded(tx, endedBefore, ROWS_PER_CHANGE))
    await repeat(async (tx) => {
      const { userId, key } = usageRequests
      const rows = await tx.select().from(usageRequests).where(isExpired).limit(ROWS_PER_CHANGE)
      for (const row of rows)
        await tx.delete(usageRequests).where(and(eq(userId, row.userId), eq(key, row.key)))
      return rows.length
    })
    await repeat(async (tx) => {
      const { userId, name, month } = usageHistory
      const rows = await tx.select().from(usageHistory).where(isTooOld).limit(ROWS_PER_CHANGE)
      for (const row of rows) {
        const isRow = and(eq(userId, row.userId), eq(name, row.name), eq(month, row.month))
        await tx.delete(usageHistory).where(isRow)
      }
      return rows.length
    })
  }
}

function toDay(time: Date): string {
  return time.toISOString().slice(0, 10)
}

function unknownLimit(): AppError {
  return invalidField('limit', 'must be the name of a limit of a plan')
}
