import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import { yieldToEventLoop } from '../../../lib/concurrency/yield-to-event-loop.ts'
import type { Log } from '../../../lib/log/log.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { prepareUpsert } from '../../../platform/db/prepared.ts'
import type { EventLog, EventRow } from '../inbox/event-log.ts'
import { readPurchase } from '../projection/fold-state.ts'
import { NO_CUSTOMER } from '../purchases/ownership.ts'
import { parsePurchaseKey } from '../purchases/purchase-key.ts'
import { findReplacements, isReplaceable } from '../purchases/supersession.ts'
import type { BillingDb } from '../schema.ts'
import {
  computePeriods,
  decodePeriods,
  encodePeriods,
  endPeriodsAt,
  type Period,
} from './periods.ts'
import { addSums, parseParts, type Sums } from './sums.ts'

type ContributionsDeps = {
  db: BillingDb
  eventLog: Pick<EventLog, 'readRows'>
  /** Called with each purchase whose periods have changed. */
  onCounted: (tx: Tx, purchaseKey: string, periods: Period[]) => Promise<void>
  log: Log
}

/** What a purchase now contributes; nothing without periods. */
export type CountedPurchase = {
  purchaseKey: string
  periods: string | null
  replacedBy: string | null
}

type CountedAtStore = CountedPurchase & { isOnPlayStore: boolean }

/** Events read per purchase. Most purchases have a few dozen; further events of a corrupt one are ignored. */
const MAX_EVENTS = 2_000
const MAX_SIBLINGS = 200
/** How long the event loop may be blocked. */
const TURN_MS = 3

/** Computes what purchases contribute, outside of transactions, and adds it to the sums. */
export function createContributions({ db, eventLog, onCounted, log }: ContributionsDeps) {
  const { billingEvents, subscriptions, purchasePeriods, businessSums } = db.tables
  const storePeriods = prepareUpsert(db, purchasePeriods)
  const addToSum = db.prepareWrite((tx) =>
    tx
      .insert(businessSums)
      .values({
        environment: sql.placeholder('environment'),
        series: sql.placeholder('series'),
        period: sql.placeholder('period'),
        item: sql.placeholder('item'),
        sum: sql.placeholder('sum'),
      })
      .onConflictDoUpdate({
        target: [
          businessSums.environment,
          businessSums.series,
          businessSums.period,
          businessSums.item,
        ],
        set: { sum: sql`${businessSums.sum} + ${sql.placeholder('sum')}` },
      }),
  )
  let turnStartedAt = 0
  return { countAll, countWithReplaced, replace }

  /** Counts purchases, and the purchases that they replace or used to replace. */
  async function countWithReplaced(keys: string[]): Promise<CountedPurchase[]> {
    const counted = await countAll(keys)
    const rows = await db.read
      .select({ purchaseKey: purchasePeriods.purchaseKey })
      .from(purchasePeriods)
      .where(inArray(purchasePeriods.replacedBy, keys))
    const others = new Set(rows.map(({ purchaseKey }) => purchaseKey))
    for (const { isOnPlayStore, purchaseKey } of counted) {
      if (!isOnPlayStore) continue
      const siblings = await findSiblings(purchaseKey)
      for (const { key, purchase } of siblings) if (isReplaceable(purchase)) others.add(key)
    }
    for (const key of keys) others.delete(key)
    return [...counted, ...(await countAll([...others]))]
  }

  async function countAll(keys: string[]): Promise<CountedAtStore[]> {
    const counted: CountedAtStore[] = []
    let remaining = keys
    while (remaining.length > 0) {
      const rows = await findEvents(remaining)
      const byKey = Map.groupBy(rows, (row) => row.purchaseKey)
      const isFull = rows.length === MAX_EVENTS
      // The last purchase of a full page may have more events.
      if (isFull && byKey.size > 1) byKey.delete(rows.at(-1)?.purchaseKey ?? null)
      const complete = isFull ? remaining.filter((key) => byKey.has(key)) : remaining
      for (const key of complete) {
        counted.push(await count(key, byKey.get(key) ?? []))
        await yieldTurn()
      }
      remaining = isFull ? remaining.filter((key) => !byKey.has(key)) : []
    }
    return counted
  }

  async function count(purchaseKey: string, rows: EventRow[]): Promise<CountedAtStore> {
    const none = { purchaseKey, periods: null, replacedBy: null, isOnPlayStore: false }
    try {
      const events = eventLog.readRows(rows)
      const isOnPlayStore = events.some(({ store }) => store === 'PLAY_STORE')
      const replacement = isOnPlayStore ? await findReplacement(purchaseKey) : null
      const own = computePeriods(events)
      const periods = replacement === null ? own : endPeriodsAt(own, replacement.at)
      if (periods.length === 0) return { ...none, isOnPlayStore }
      const replacedBy = replacement?.key ?? null
      return { purchaseKey, periods: encodePeriods(periods), replacedBy, isOnPlayStore }
    } catch (err) {
      log.warn({ purchaseKey, err }, 'a purchase could not be counted into the business figures')
      return none
    }
  }

  async function findReplacement(purchaseKey: string) {
    const siblings = await findSiblings(purchaseKey)
    const purchases = siblings.map(({ key, purchase }) => ({ ...purchase, key }))
    for (const [replaced, by] of findReplacements(purchases)) {
      if (replaced.key === purchaseKey)
        return { key: by.key, at: Math.max(by.startedAt, replaced.startedAt) }
    }
    return null
  }

  // Not prepared, so that another thread reads the pages of old events from the disk.
  function findEvents(keys: string[]) {
    const { provider, body, orderedAt, eventId, outcome, purchaseKey } = billingEvents
    return db.read
      .select({ provider, body, orderedAt, eventId, outcome, purchaseKey })
      .from(billingEvents)
      .where(inArray(purchaseKey, keys))
      .orderBy(asc(purchaseKey), asc(orderedAt), asc(billingEvents.id))
      .limit(MAX_EVENTS)
  }

  async function findSiblings(purchaseKey: string) {
    const [owner] = await db.read
      .select({ customerId: subscriptions.customerId })
      .from(subscriptions)
      .where(eq(subscriptions.purchaseKey, purchaseKey))
    if (!owner || owner.customerId === NO_CUSTOMER) return []
    const { environment } = parsePurchaseKey(purchaseKey)
    const isOwner = eq(subscriptions.customerId, owner.customerId)
    const rows = await db.read
      .select({ key: subscriptions.purchaseKey, state: subscriptions.state })
      .from(subscriptions)
      .where(and(isOwner, eq(subscriptions.environment, environment)))
      .limit(MAX_SIBLINGS)
    return rows.map(({ key, state }) => ({ key, purchase: readPurchase(state) }))
  }

  async function replace(tx: Tx, counted: CountedPurchase[]) {
    if (counted.length === 0) return
    const keys = counted.map(({ purchaseKey }) => purchaseKey)
    const isCounted = inArray(purchasePeriods.purchaseKey, keys)
    const rows = await tx.select().from(purchasePeriods).where(isCounted)
    const known = new Map(rows.map((row) => [row.purchaseKey, row]))
    const sums = new Map<string, Sums>()
    for (const { purchaseKey, periods, replacedBy } of counted) {
      const old = known.get(purchaseKey)
      if (periods === (old?.periods ?? null) && replacedBy === (old?.replacedBy ?? null)) continue
      const { environment } = parsePurchaseKey(purchaseKey)
      const changes = sums.get(environment) ?? new Map<string, number>()
      sums.set(environment, changes)
      if (old) addSums(changes, decodePeriods(old.periods), -1)
      if (periods === null) {
        await tx.delete(purchasePeriods).where(eq(purchasePeriods.purchaseKey, purchaseKey))
      } else {
        const decoded = decodePeriods(periods)
        addSums(changes, decoded, 1)
        await onCounted(tx, purchaseKey, decoded)
        await storePeriods(tx, { purchaseKey, periods, replacedBy })
      }
    }
    for (const [environment, changes] of sums) {
      for (const [key, sum] of changes) {
        if (sum !== 0) await addToSum(tx).execute({ environment, ...parseParts(key), sum })
      }
    }
  }

  async function yieldTurn() {
    if (performance.now() - turnStartedAt < TURN_MS) return
    await yieldToEventLoop()
    turnStartedAt = performance.now()
  }
}
