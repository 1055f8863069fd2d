import { sha256 } from '../../lib/crypto/hash.ts'
import { AppError, invalidField, notFound } from '../../lib/errors.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import type { PeriodBounds } from '../../lib/time/limit-period.ts'
import type { Tx } from '../../platform/db/db.ts'
import { prepareFind, prepareUpsert } from '../../platform/db/prepared.ts'
import { coalesce, type Settled } from './coalesce.ts'
import type { Counters } from './counters.ts'
import type { PurchaseCounters } from './purchase-counters.ts'
import type { UsageDb } from './schema.ts'

export type Consumption = {
  userId: string
  limit: string
  /** Negative to give usage back. */
  amount: number
  idempotencyKey?: string
  /** Only checks the limit; records no usage. */
  dryRun?: boolean
}

/** `limit` null: unlimited. */
type CurrentLimit = {
  limit: number | null
  bounds: PeriodBounds
  purchaseKey: string | null
}

export type LimitReached = { limit: string; used: number; max: number; resetsAt: string | null }

type Decision = { allowed: boolean } & LimitState
/** The answer to a request to use a limit. `repeated`: the first outcome of a request that was sent before. */
type Outcome = Decision & { repeated: boolean }
type LimitState = ReturnType<typeof toLimitState>

type ConsumptionDeps = {
  db: UsageDb
  counters: Counters
  purchaseCounters: PurchaseCounters
  isUserWithin: (tx: Tx, id: string) => Promise<boolean>
  /** Called in the transaction of the first use that reaches or would exceed a limit. */
  onLimitReached: (tx: Tx, userId: string, reached: LimitReached) => Promise<void>
  now: () => Date
}

type Item = { request: Consumption; current: CurrentLimit }

const MAX_BATCH = 100
/** How long the outcome of a request is kept for retries. */
export const IDEMPOTENCY_MS = DAY_MS

/** Counts usage against limits, each request in one transaction. */
export function createConsumption(deps: ConsumptionDeps) {
  const { db, counters, purchaseCounters, isUserWithin, onLimitReached, now } = deps
  const { usageRequests } = db.tables
  const findRequest = prepareFind(db, usageRequests)
  const storeRequest = prepareUpsert(db, usageRequests)
  // On PostgreSQL, concurrent transactions for one user would conflict and be retried one by one.
  const consumeTogether = coalesce(consumeAll, MAX_BATCH)
  return { consume }

  /** Counts up to the limit. A repeated idempotency key gets the first outcome for 24 hours; a refusal is not kept. */
  function consume(request: Consumption, current: CurrentLimit): Promise<Outcome> {
    return consumeTogether(request.userId, { request, current })
  }

  function consumeAll(items: Item[]): Promise<Settled<Outcome>[]> {
    return db.write(async (tx) => {
      const settled: Settled<Outcome>[] = []
      for (const { request, current } of items) {
        try {
          settled.push({ value: await consumeOnce(tx, request, current) })
        } catch (error) {
          // These errors occur before anything is written.
          if (!(error instanceof AppError)) throw error
          settled.push({ error })
        }
      }
      return settled
    })
  }

  async function consumeOnce(tx: Tx, request: Consumption, current: CurrentLimit) {
    const { userId, limit: name, amount, idempotencyKey: key, dryRun = false } = request
    const { bounds, purchaseKey } = current
    const period = { name, startsAt: bounds.startsAt }
    const hash = key === undefined ? '' : sha256(JSON.stringify([name, amount]))
    const earlier = key === undefined ? null : await findEarlierOutcome(tx, userId, key, hash)
    if (earlier) return { ...earlier, repeated: true }
    const counter = await counters.find(tx, { userId, ...period })
    // Counters are deleted with their user, so a counter implies a user.
    if (!counter && !(await isUserWithin(tx, userId))) throw notFound()
    const own = counter?.used ?? 0
    const usedOfPurchase =
      purchaseKey === null ? null : await purchaseCounters.find(tx, { purchaseKey, ...period })
    const decision = decide(Math.max(own, usedOfPurchase ?? 0), amount, current)
    const outcome = { ...decision, repeated: false }
    if (dryRun) return outcome
    const reported = counter?.reachedLimit ?? null
    const reached = reachedBy(decision, amount)
    const isUnreported = reached !== null && reached !== reported
    if (!outcome.allowed && !isUnreported) return outcome
    const { used, resetsAt } = outcome
    const add = (before: number) => (outcome.allowed ? Math.max(0, before + amount) : before)
    const reachedLimit = reached ?? reported
    await counters.store(tx, { userId, name, ...bounds, used: add(own), reachedLimit })
    if (purchaseKey !== null)
      await purchaseCounters.store(tx, {
        ...{ purchaseKey, name, ...bounds },
        used: add(usedOfPurchase ?? own),
      })
    if (isUnreported)
      await onLimitReached(tx, userId, { limit: name, used, max: reached, resetsAt })
    if (outcome.allowed && key !== undefined)
      await storeRequest(tx, { userId, key, hash, outcome: decision, at: now() })
    return outcome
  }

  async function findEarlierOutcome(tx: Tx, userId: string, key: string, hash: string) {
    const earlier = await findRequest(tx, { userId, key })
    if (!earlier || earlier.at.getTime() + IDEMPOTENCY_MS <= now().getTime()) return null
    if (earlier.hash === hash) return earlier.outcome as Decision
    const message = 'was used with another amount or limit: use a new one'
    throw invalidField(
      'idempotencyKey',
      message,
      'This idempotency key was used for another request.',
    )
  }
}

function decide(before: number, amount: number, current: CurrentLimit): Decision {
  const { limit } = current
  const after = Math.max(0, before + amount)
  const allowed = limit === null || amount <= 0 || after <= limit
  return { allowed, ...toLimitState(allowed ? after : before, current) }
}

/** The limit that a request has reached or would exceed; null for none. */
function reachedBy({ allowed, used, limit }: Decision, amount: number): number | null {
  if (limit === null || amount <= 0) return null
  return !allowed || used >= limit ? limit : null
}

/** How much of a limit is used and left; `resetsAt` null: never. */
export function toLimitState(
  used: number,
  { limit, bounds }: Pick<CurrentLimit, 'limit' | 'bounds'>,
) {
  return {
    used,
    limit,
    remaining: limit === null ? null : Math.max(0, limit - used),
    resetsAt: bounds.endsAt?.toISOString() ?? null,
  }
}
