import { and, eq, gt, inArray, lt, sql } from 'drizzle-orm'
import type { Config } from '../../config/config.ts'
import { sha256 } from '../../lib/crypto/hash.ts'
import { AppError } from '../../lib/errors.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import { repeatInBatches } from '../db/batched-changes.ts'
import type { Tx } from '../db/db.ts'
import { prepareFind, prepareRemove, prepareUpsert } from '../db/prepared.ts'
import type { LimitsDb } from './schema.ts'

type PerIp = Config['perIp']
/** At most `max` attempts in a window of `seconds`. A `max` in words names the setting of a limit per IP address. */
export type WindowRule = { name: string; max: number | keyof PerIp; seconds: number }
/** `free` attempts without a delay, then a delay after each that doubles from 1 s up to `maxDelay` seconds. */
export type BackoffRule = { name: string; free: number; maxDelay: number }
/** A rule for one user, address or network, which `key` identifies. */
export type Limit = { rule: WindowRule | BackoffRule; key: string }

/** Counted attempts. Call `release` for those that succeeded. */
type Reservation = { release: (tx: Tx) => Promise<void> }

export type Limits = ReturnType<typeof createLimits>

type Row = { count: number; until: Date }

/** Setting the clock back by less than this does not reset counters. */
const CLOCK_SLACK_SECONDS = 60 * 60
const ROWS_PER_CHANGE = 2_000

/** Rate limits with counters in the database, which survive a restart and count concurrent attempts. */
export function createLimits({
  db,
  now,
  enabled,
  perIp,
}: {
  db: LimitsDb
  now: () => Date
  enabled: boolean
  perIp: PerIp
}) {
  const { limits } = db.tables
  const findCounter = prepareFind(db, limits)
  const storeCounter = prepareUpsert(db, limits)
  const lowerCounter = db.prepareWrite((tx) =>
    tx
      .update(limits)
      .set({ count: sql`${limits.count} - 1` })
      .where(
        and(
          eq(limits.key, sql.placeholder('key')),
          eq(limits.until, sql.param(sql.placeholder('until'), limits.until)),
          gt(limits.count, 0),
        ),
      ),
  )
  const deleteCounter = prepareRemove(db, limits, 'key')
  return {
    isOn: enabled,
    check,
    reserve,
    countIfAllowed,
    uncountOne,
    resetCounter,
    activeLimits,
    sweep,
  }

  /** Throws `rate_limited` if a limit is used up. Does not count. */
  async function check(limits: Limit[]) {
    const [first] = enabled ? await activeLimits(limits) : []
    if (first) throw tooManyAttempts(first.until, now())
  }

  /** Counts all of `limits` before the work, or counts none and throws `rate_limited`. */
  async function reserve(limits: Limit[]): Promise<Reservation> {
    if (!enabled) return { release: async () => {} }
    const rows = await db.write((tx) => countAll(tx, limits))
    return {
      async release(tx) {
        for (const [at, limit] of limits.entries()) await uncount(tx, limit, rows[at])
      },
    }
  }

  /** Counts `limit` as part of the change; false when the limit is exceeded. */
  async function countIfAllowed(tx: Tx, limit: Limit): Promise<boolean> {
    if (!enabled) return true
    try {
      await count(tx, limit)
      return true
    } catch (error) {
      if (error instanceof AppError && error.code === 'rate_limited') return false
      throw error
    }
  }

  /** Takes back one attempt that was counted earlier. */
  async function uncountOne(tx: Tx, limit: Limit) {
    const key = buildKey(limit)
    const row = await findCounter(tx, { key })
    if (row) await lowerCounter(tx).execute({ key, until: row.until })
  }

  async function resetCounter(tx: Tx, limit: Limit) {
    await deleteCounter(tx, { key: buildKey(limit) })
  }

  /** The limits that would refuse an attempt now, and until when. */
  async function activeLimits(limits: Limit[]): Promise<{ name: string; until: Date }[]> {
    const found = []
    for (const limit of limits) {
      const { rule } = limit
      const row = await findCounter(db.read, { key: buildKey(limit) })
      const isExhausted = row && ('free' in rule || row.count >= findMax(rule))
      if (isExhausted && isInForce(row, rule, now()))
        found.push({ name: rule.name, until: row.until })
    }
    return found
  }

  async function sweep() {
    const isOld = lt(limits.until, new Date(now().getTime() - DAY_MS))
    await repeatInBatches(db, ROWS_PER_CHANGE, async (tx) => {
      const old = tx.select({ key: limits.key }).from(limits).where(isOld)
      const keys = (await old.limit(ROWS_PER_CHANGE)).map(({ key }) => key)
      if (keys.length > 0) await tx.delete(limits).where(inArray(limits.key, keys))
      return keys.length
    })
  }

  async function countAll(tx: Tx, limits: Limit[]): Promise<Row[]> {
    const rows = []
    for (const limit of limits) rows.push(await count(tx, limit))
    return rows
  }

  async function count(tx: Tx, limit: Limit): Promise<Row> {
    const key = buildKey(limit)
    const at = now()
    const row = await findCounter(tx, { key })
    const { rule } = limit
    const next =
      'max' in rule ? addInWindow(rule, findMax(rule), row, at) : addWithBackoff(rule, row, at)
    await storeCounter(tx, { key, ...next })
    return next
  }

  function findMax({ max }: WindowRule): number {
    return typeof max === 'number' ? max : perIp[max]
  }

  /** Leaves the counter alone when a new window has begun since `counted`. */
  async function uncount(tx: Tx, limit: Limit, counted: Row | undefined) {
    if ('free' in limit.rule || !counted) return resetCounter(tx, limit)
    await lowerCounter(tx).execute({ key: buildKey(limit), until: counted.until })
  }
}

function addInWindow(rule: WindowRule, max: number, row: Row | undefined, at: Date): Row {
  if (!row || !isInForce(row, rule, at)) return { count: 1, until: addSeconds(at, rule.seconds) }
  if (row.count >= max) throw tooManyAttempts(row.until, at)
  return { count: row.count + 1, until: row.until }
}

function addWithBackoff(rule: BackoffRule, row: Row | undefined, at: Date): Row {
  const { free, maxDelay } = rule
  if (row && isInForce(row, rule, at)) throw tooManyAttempts(row.until, at)
  const isRecent = row && at.getTime() - row.until.getTime() < DAY_MS
  const count = isRecent ? row.count + 1 : 1
  const delay = count < free ? 0 : Math.min(2 ** (count - free), maxDelay)
  return { count, until: addSeconds(at, delay) }
}

function isInForce({ until }: Row, rule: WindowRule | BackoffRule, at: Date): boolean {
  const longest = 'max' in rule ? rule.seconds : rule.maxDelay
  return lastsUntil(until, at, longest + CLOCK_SLACK_SECONDS)
}

/** Whether `until` is ahead, by at most `seconds`: a later end was set while the clock was wrong. */
export function lastsUntil(until: Date, at: Date, seconds: number): boolean {
  return until > at && until <= addSeconds(at, seconds)
}

function addSeconds(at: Date, seconds: number): Date {
  return new Date(at.getTime() + seconds * 1000)
}

/** Keys are e-mail addresses, IP addresses or user ids, so only their hash is stored. */
function buildKey({ rule, key }: Limit): string {
  return `${rule.name}:${sha256(key)}`
}

export function tooManyAttempts(until: Date, at: Date): AppError {
  const seconds = Math.max(1, Math.ceil((until.getTime() - at.getTime()) / 1000))
  return new AppError('rate_limited', 'Too many attempts. Wait a moment and try again.', {
    retryAfterSeconds: seconds,
  })
}
