import { and, asc, desc, eq, gt, inArray, lte, sql } from 'drizzle-orm'
import { chunk } from '../../../lib/concurrency/chunk.ts'
import { firstIdAt, readIdTime } from '../../../lib/ids.ts'
import type { Log } from '../../../lib/log/log.ts'
import { DAY_MS, MINUTE_MS } from '../../../lib/time/durations.ts'
import { createCursor, repeatInBatches } from '../../../platform/db/batched-changes.ts'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import { countRows } from '../../../platform/db/key-ranges.ts'
import type { EventLog } from '../inbox/event-log.ts'
import type { BillingDb } from '../schema.ts'
import { type CountedPurchase, createContributions } from './contributions.ts'
import type { Period } from './periods.ts'

type CountingDeps = {
  db: BillingDb
  eventLog: Pick<EventLog, 'readRows'>
  /** Called with each purchase whose periods have changed. */
  onCounted: (tx: Tx, purchaseKey: string, periods: Period[]) => Promise<void>
  newId: () => string
  log: Log
  /** How old an event must be; only tests set it. */
  delayMs?: number | undefined
}

export type Counting = ReturnType<typeof createCounting>

/** Waits between two batches; `since`: when the last batch began. */
type Rest = (since: number) => Promise<void>

/** The progress of the figures, as stored in the table `reconciliation`. */
type Progress = {
  version: number
  /** First everything is cleared, then each purchase is counted once, then the log is followed. */
  stage: 'clear' | 'fill' | 'follow'
  /** The last purchase counted, or the id of the last event followed. */
  after: string
  /** The events after this one are followed once all purchases are counted. */
  followAfter: string
  counted: number
  total: number
}

/** Increase it when `periods.ts` or `sums.ts` change their results: all purchases are then counted again. */
const VERSION = 8
const PROGRESS_ID = 'business figures'
/** Instances may commit events out of id order, but only within this time. */
const DELAY_MS = MINUTE_MS
/** In case a clock was wrong, the events of the last two days are counted again every day. */
const RECHECKED_MS = 2 * DAY_MS
const PURCHASES_PER_CHANGE = 50
const EVENTS_PER_PAGE = 500
const MAX_COUNTED_KEYS = 10_000
const ROWS_CLEARED = 500

/** Counts purchases into the business figures, in the background: recording an event does not wait for it. */
export function createCounting(deps: CountingDeps) {
  const { db, newId, delayMs = DELAY_MS } = deps
  const { billingEvents, subscriptions } = db.tables
  const { purchasePeriods, businessSums, changedPurchases, reconciliation } = db.tables
  const { countAll, countWithReplaced, replace } = createContributions(deps)
  const cursor = createCursor(db, reconciliation, PROGRESS_ID)
  const storeChange = db.prepareWrite((tx) =>
    tx
      .insert(changedPurchases)
      .values({ purchaseKey: sql.placeholder('purchaseKey'), changes: 0 })
      .onConflictDoUpdate({
        target: changedPurchases.purchaseKey,
        set: { changes: sql`${changedPurchases.changes} + 1` },
      }),
  )
  let running: Promise<unknown> = Promise.resolve()
  return { run, rebuild, recheck, markChanged, readProgress }

  /** Counts everything that has changed, working at most half of the time. */
  function run(signal: AbortSignal, rest: Rest = yieldToOthers): Promise<void> {
    const next = running.catch(() => {}).then(() => work(signal, rest))
    running = next
    return next
  }

  /** Counts every purchase again from scratch, as fast as possible. */
  async function rebuild(signal: AbortSignal) {
    await db.write((tx) => save(tx, initialProgress()))
    await run(signal, db.pauseBatches)
  }

  async function recheck(signal: AbortSignal) {
    await db.write(async (tx) => {
      const progress = await load(tx)
      const after = idBefore(RECHECKED_MS)
      if (progress?.stage === 'follow' && after < progress.after)
        await save(tx, { ...progress, after })
    })
    await run(signal)
  }

  /** Marks a purchase to be counted again: it may have changed without a new event. */
  async function markChanged(tx: Tx, purchaseKey: string) {
    await storeChange(tx).execute({ purchaseKey })
  }

  /** `counting`: the progress of a full count, else null. `behindSince`: null if less than a few minutes behind. */
  async function readProgress() {
    const progress = await load(db.read)
    if (progress?.stage !== 'follow') {
      const { counted = 0, total = 0 } = progress ?? {}
      return { counting: { counted, total }, behindSince: null }
    }
    const [newest] = await db.read
      .select({ id: billingEvents.id })
      .from(billingEvents)
      .where(lte(billingEvents.id, idBefore(DELAY_MS + 5 * MINUTE_MS)))
      .orderBy(desc(billingEvents.id))
      .limit(1)
    const isBehind = newest !== undefined && newest.id > progress.after
    return { counting: null, behindSince: isBehind ? new Date(readIdTime(progress.after)) : null }
  }

  async function work(signal: AbortSignal, rest: Rest) {
    let progress = await load(db.read)
    if (progress?.version !== VERSION) {
      progress = initialProgress()
      const initial = progress
      await db.write((tx) => save(tx, initial))
    }
    if (progress?.stage === 'clear') progress = await clear(progress, signal)
    if (progress?.stage === 'fill') progress = await fill(progress, signal, rest)
    if (progress?.stage !== 'follow' || signal.aborted) return
    await countChanged(progress, signal, rest)
    await follow(progress, signal, rest)
  }

  async function clear(progress: Progress, signal: AbortSignal): Promise<Progress | null> {
    for (const table of [changedPurchases, purchasePeriods]) {
      const { purchaseKey } = table
      await repeatInBatches(
        db,
        ROWS_CLEARED,
        async (tx) => {
          const rows = await tx.select({ purchaseKey }).from(table).limit(ROWS_CLEARED)
          const keys = rows.map((row) => row.purchaseKey)
          if (keys.length > 0) await tx.delete(table).where(inArray(purchaseKey, keys))
          return rows.length
        },
        signal,
      )
    }
    for (;;) {
      const [row] = await db.read.select().from(businessSums).limit(1)
      if (!row || signal.aborted) break
      const { environment, series } = businessSums
      const isSame = and(eq(environment, row.environment), eq(series, row.series))
      await db.write(async (tx) => void (await tx.delete(businessSums).where(isSame)))
    }
    if (signal.aborted) return null
    const total = await countRows(db.read, subscriptions, subscriptions.purchaseKey)
    return advance(progress, { ...progress, stage: 'fill', followAfter: idBefore(delayMs), total })
  }

  async function fill(start: Progress, signal: AbortSignal, rest: Rest): Promise<Progress | null> {
    let progress: Progress | null = start
    while (progress?.stage === 'fill' && !signal.aborted) {
      const startedAt = performance.now()
      const rows = await db.read
        .selectDistinct({ purchaseKey: billingEvents.purchaseKey })
        .from(billingEvents)
        .where(gt(billingEvents.purchaseKey, progress.after))
        .orderBy(asc(billingEvents.purchaseKey))
        .limit(PURCHASES_PER_CHANGE)
      const keys = rows.flatMap(({ purchaseKey }) => purchaseKey ?? [])
      const after = keys.at(-1)
      const counted = progress.counted + keys.length
      const next: Progress =
        after === undefined
          ? { ...progress, stage: 'follow', after: progress.followAfter }
          : { ...progress, after, counted }
      progress = await store(progress, next, await countAll(keys))
      await rest(startedAt)
    }
    return progress
  }

  async function countChanged(progress: Progress, signal: AbortSignal, rest: Rest) {
    while (!signal.aborted) {
      const startedAt = performance.now()
      const rows = await db.read.select().from(changedPurchases).limit(PURCHASES_PER_CHANGE)
      if (rows.length === 0) return
      const counted = await countWithReplaced(rows.map(({ purchaseKey }) => purchaseKey))
      const isStored = await store(progress, progress, counted, async (tx) => {
        for (const { purchaseKey, changes } of rows) {
          const isSame = eq(changedPurchases.changes, changes)
          const isRow = eq(changedPurchases.purchaseKey, purchaseKey)
          await tx.delete(changedPurchases).where(and(isRow, isSame))
        }
      })
      if (!isStored) return
      await rest(startedAt)
    }
  }

  async function follow(start: Progress, signal: AbortSignal, rest: Rest) {
    const end = idBefore(delayMs)
    let progress: Progress | null = start
    // A purchase is counted with all of its events, so it need not be counted again for a later page.
    const countedKeys = new Set<string>()
    // The clock was wrong: the ids of the next events are lower.
    if (start.after > end) progress = await advance(start, { ...start, after: end })
    while (progress !== null && !signal.aborted) {
      const page = await eventsBetween(progress.after, end)
      const last = page.at(-1)
      if (last === undefined) return
      if (countedKeys.size > MAX_COUNTED_KEYS) countedKeys.clear()
      const changed = new Set(page.flatMap(({ purchaseKey }) => purchaseKey ?? []))
      const keys = [...changed.difference(countedKeys)]
      for (const key of keys) countedKeys.add(key)
      for (const batch of chunk(keys, PURCHASES_PER_CHANGE)) {
        if (progress === null) break
        const startedAt = performance.now()
        progress = await store(progress, progress, await countWithReplaced(batch))
        await rest(startedAt)
      }
      progress = progress && (await advance(progress, { ...progress, after: last.id }))
    }
  }

  function eventsBetween(after: string, end: string) {
    return db.read
      .select({ id: billingEvents.id, purchaseKey: billingEvents.purchaseKey })
      .from(billingEvents)
      .where(and(gt(billingEvents.id, after), lte(billingEvents.id, end)))
      .orderBy(asc(billingEvents.id))
      .limit(EVENTS_PER_PAGE)
  }

  function advance(from: Progress, to: Progress): Promise<Progress | null> {
    return store(from, to, [])
  }

  /** Replaces earlier contributions and stores the progress. If another run was first, changes nothing and returns null. */
  function store(
    from: Progress,
    to: Progress,
    counted: CountedPurchase[],
    inSameTransaction: (tx: Tx) => Promise<void> = async () => {},
  ): Promise<Progress | null> {
    return db.write(async (tx) => {
      if (JSON.stringify(await load(tx)) !== JSON.stringify(from)) return null
      await replace(tx, counted)
      await inSameTransaction(tx)
      if (to !== from) await save(tx, to)
      return to
    })
  }

  function initialProgress(): Progress {
    return { version: VERSION, stage: 'clear', after: '', followAfter: '', counted: 0, total: 0 }
  }

  async function load(from: Reader): Promise<Progress | null> {
    const stored = await cursor.read(from)
    return stored === null ? null : (JSON.parse(stored) as Progress)
  }

  async function save(tx: Tx, progress: Progress) {
    await cursor.store(tx, JSON.stringify(progress))
  }

  /** Leaves half of the time to other work. */
  async function yieldToOthers(since: number) {
    await Bun.sleep(performance.now() - since)
    await db.pauseBatches()
  }

  /** The lowest id that an event could have had `ms` ago, by the clock that the ids are generated from. */
  function idBefore(ms: number): string {
    const id = newId()
    return ms === 0 ? id : firstIdAt(readIdTime(id) - ms)
  }
}
