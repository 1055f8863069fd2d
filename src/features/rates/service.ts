import { aliasedTable, and, asc, desc, eq, gt, gte, inArray, lt, lte, notExists } from 'drizzle-orm'
import { chunk } from '../../lib/concurrency/chunk.ts'
import { AppError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log/log.ts'
import { HOUR_MS, MINUTE_MS } from '../../lib/time/durations.ts'
import { areRatesOld } from '../../lib/time/ecb-days.ts'
import type { Reader, Tx } from '../../platform/db/db.ts'
import { pause } from '../../platform/jobs/jobs.ts'
import { checkRateSet } from './check-rates.ts'
import { type Feed, type FetchOutcome, fetchRates } from './feed.ts'
import type { RateSet } from './model.ts'
import type { RatesDb } from './schema.ts'
import {
  addPegs,
  type DayRates,
  lastPublication,
  mergeDays,
  mergeSets,
  orderSets,
  type Peg,
  type RefreshOutcome,
  ratesFor,
  summarize,
  toTableVersion,
} from './table.ts'

type RatesDeps = {
  db: RatesDb
  /** In order of preference: the first feed with a currency provides its rate. Empty if refreshing is off. */
  feeds: Feed[]
  baseCode: string
  pegs: Peg[]
  now: () => Date
  newId: () => string
  log: Log
}

export type CurrencyRates = { baseCode: string; rates: Record<string, number>; updatedAt: string }

export type Rates = ReturnType<typeof createRates>

const RETRY_DELAYS_MS = [MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS]
const SETS_PER_QUERY = 50
export function createRates({ db, feeds, baseCode, pegs, now, newId, log }: RatesDeps) {
  const { rateSets, rates, rateFeeds } = db.tables
  const served = db.cached('rates', loadServed)
  let warnedOn: string | null = null
  let lastAttempt: (RefreshOutcome & { at: string }) | null = null
  const isRefreshed = feeds.length > 0
  const providers = feeds.map(({ provider }) => provider)
  /** By the version that `toTableVersion` returns. */
  const pastRates = new Map<string, Record<string, number>>()
  return {
    baseCode,
    isRefreshed,
    read,
    /** Like `read`, but null if there are none. */
    readIfServed: served.read,
    readDays,
    isStale,
    isDue,
    describeFeed,
    refresh,
    refreshWithRetries,
    seed,
  }

  /** The served rates; the same object until they change. Throws `unavailable` if there are none for the base currency. */
  async function read(): Promise<CurrencyRates> {
    const found = await served.read()
    if (found !== null) return found
    throw new AppError('unavailable', `There are no rates for ${baseCode}.`, {
      retryAfterSeconds: 3600,
    })
  }

  async function isStale(): Promise<boolean> {
    const found = await served.read()
    return found === null || areRatesOld(Date.parse(found.updatedAt), now().getTime())
  }

  /** In order of date: starts with each provider's rates valid on `since`, or else with the oldest stored rates. */
  async function readDays(since: string, until: string): Promise<DayRates[]> {
    const sets = () => db.read.select().from(rateSets)
    const later = aliasedTable(rateSets, 'later')
    const isLater = and(eq(later.provider, rateSets.provider), gt(later.date, rateSets.date))
    const laterSets = db.read
      .select()
      .from(later)
      .where(and(isLater, lt(later.date, since)))
    const before = await sets()
      .where(and(lt(rateSets.date, since), notExists(laterSets)))
      .orderBy(asc(rateSets.date))
    const during = await sets()
      .where(and(gte(rateSets.date, since), lte(rateSets.date, until)))
      .orderBy(asc(rateSets.date), asc(rateSets.storedAt))
    const after = await sets().where(gte(rateSets.date, since)).orderBy(asc(rateSets.date)).limit(1)
    const found = before.length + during.length > 0 ? [...before, ...during] : after
    await loadPastRates(found.filter((set) => !pastRates.has(toTableVersion(set))))
    return mergeDays(
      providers,
      pegs,
      found.map((set) => ({ ...set, rates: pastRates.get(toTableVersion(set)) ?? {} })),
    )
  }

  async function loadPastRates(sets: (typeof rateSets.$inferSelect)[]) {
    for (const some of chunk(sets, SETS_PER_QUERY)) {
      const isInChunk = inArray(
        rates.setId,
        some.map(({ id }) => id),
      )
      const bySet = Map.groupBy(
        await db.read.select().from(rates).where(isInChunk),
        ({ setId }) => setId,
      )
      for (const set of some) {
        const published = (bySet.get(set.id) ?? []).map(({ code, rate }) => [code, rate])
        pastRates.set(toTableVersion(set), Object.fromEntries(published))
      }
    }
  }

  /** Whether the last success is older than the last expected publication. */
  async function isDue(): Promise<boolean> {
    const states = await feedStates()
    return states.some((state) => (state?.succeededAt ?? new Date(0)) < lastPublication(now()))
  }

  async function describeFeed() {
    if (!isRefreshed) return { provider: null, succeededAt: null, held: null, last: null }
    const states = await feedStates()
    const succeeded = states.flatMap((state) => state?.succeededAt?.toISOString() ?? []).toSorted()
    const held = states.find((state) => state?.held)?.held ?? null
    const succeededAt = succeeded.at(-1) ?? null
    return { provider: providers.join(','), succeededAt, held, last: lastAttempt }
  }

  /** Refreshes the rates. After a failure, retries in 1, 5, 15 and 60 minutes. */
  async function refreshWithRetries(signal: AbortSignal) {
    const states = await feedStates()
    // open.er-api.com publishes daily and allows one request an hour.
    const since = now().getTime() - HOUR_MS
    const isRecent = (at: number) => (states[at]?.succeededAt?.getTime() ?? 0) > since
    let pending = feeds.filter(({ provider }, at) => provider !== 'open-er-api' || !isRecent(at))
    for (const wait of [...RETRY_DELAYS_MS, null]) {
      const outcomes = await Promise.all(pending.map((feed) => refreshFeed(feed, signal)))
      pending = pending.filter((_feed, at) => 'reason' in (outcomes[at] ?? {}))
      if (pending.length === 0 || wait === null) break
      await pause(wait, signal)
      if (signal.aborted) break
    }
    if (!signal.aborted) await warnOfStaleRates()
  }

  /** At most once a day. */
  async function warnOfStaleRates() {
    const today = now().toISOString().slice(0, 10)
    if (warnedOn === today || !(await isStale())) return
    warnedOn = today
    if ((await served.read()) === null) log.warn({ baseCode }, 'there are no rates for RATES_BASE')
    else log.warn('the currency rates are out of date')
  }

  /** Requests the rates of each provider once and stores valid ones. On failure the last good set remains in use. */
  async function refresh(signal: AbortSignal): Promise<RefreshOutcome> {
    if (!isRefreshed) return { outcome: 'failed', reason: 'RATES_PROVIDER is off' }
    const all = await Promise.all(feeds.map((feed) => refreshFeed(feed, signal)))
    const outcome = summarize(providers, all)
    lastAttempt = { at: now().toISOString(), ...outcome }
    return outcome
  }

  async function refreshFeed(feed: Feed, signal: AbortSignal): Promise<RefreshOutcome> {
    const state = await feedState(db.read, feed.provider)
    const validators = { etag: state?.etag ?? null, lastModified: state?.lastModified ?? null }
    const fetched = await fetchRates(feed, validators, signal)
    const outcome = await storeOutcome(feed.provider, fetched)
    lastAttempt = { at: now().toISOString(), ...outcome }
    log.info({ provider: feed.provider, ...outcome }, 'currency rates were requested')
    return outcome
  }

  /** In the caller's transaction. */
  async function seed(tx: Tx, set: RateSet) {
    await store(tx, set, set.rates)
  }

  async function storeOutcome(provider: string, fetched: FetchOutcome): Promise<RefreshOutcome> {
    if (fetched.kind === 'failed') return { outcome: 'failed', reason: fetched.reason }
    return db.write(async (tx): Promise<RefreshOutcome> => {
      await served.invalidate(tx)
      const at = now()
      if (fetched.kind === 'unchanged') {
        const newest = await newestSet(tx, provider)
        await upsertFeed(tx, provider, { succeededAt: at })
        if (newest) await upsertFeed(tx, 'current', { setId: newest.id })
        return { outcome: 'unchanged' }
      }
      const { set, etag, lastModified } = fetched
      const last = await loadSet(tx, provider)
      const state = await feedState(tx, provider)
      const verdict = checkRateSet(set, last, state?.held ?? null, canServe, at)
      if (verdict.kind === 'refused') return { outcome: 'refused', reason: verdict.reason }
      await store(tx, set, verdict.rates)
      await upsertFeed(tx, provider, { etag, lastModified, succeededAt: at, held: verdict.held })
      const isSame = last?.date === set.date && Bun.deepEquals(last.rates, verdict.rates)
      if (isSame) return { outcome: 'unchanged' }
      const { rates: jumps = {}, kept = {} } = verdict.held ?? {}
      const isKept = Object.keys(kept).length > 0
      return {
        outcome: 'stored',
        date: set.date,
        held: Object.keys(jumps),
        ...(isKept ? { kept } : {}),
      }
    })
  }

  /** Inserts or replaces the set for its provider and date, and serves it from now on. */
  async function store(tx: Tx, set: RateSet, accepted: Record<string, number>) {
    const { provider, baseCode: base, date, publishedAt } = set
    const [row] = await tx
      .insert(rateSets)
      .values({ id: newId(), provider, baseCode: base, date, publishedAt, storedAt: now() })
      .onConflictDoUpdate({
        target: [rateSets.provider, rateSets.date],
        set: { baseCode: base, publishedAt, storedAt: now() },
      })
      .returning({ id: rateSets.id })
    const setId = row?.id ?? ''
    await tx.delete(rates).where(eq(rates.setId, setId))
    await tx
      .insert(rates)
      .values(Object.entries(accepted).map(([code, rate]) => ({ setId, code, rate })))
    await upsertFeed(tx, 'current', { setId })
  }

  async function upsertFeed(
    tx: Tx,
    provider: string,
    changes: Partial<Omit<typeof rateFeeds.$inferInsert, 'provider'>>,
  ) {
    await tx
      .insert(rateFeeds)
      .values({ provider, ...changes })
      .onConflictDoUpdate({ target: rateFeeds.provider, set: changes })
  }

  function canServe(set: RateSet): boolean {
    return feeds.length > 1 || baseCode in addPegs(set, pegs)
  }

  function feedStates() {
    return Promise.all(providers.map((provider) => feedState(db.read, provider)))
  }

  async function feedState(from: Reader, provider: string) {
    const [state] = await from.select().from(rateFeeds).where(eq(rateFeeds.provider, provider))
    return state
  }

  async function loadServed(from: Reader): Promise<CurrencyRates | null> {
    const pointer = await feedState(from, 'current')
    const isCurrent = eq(rateSets.id, pointer?.setId ?? '')
    const current = await from.select().from(rateSets).where(isCurrent)
    const newest = await Promise.all(providers.map((provider) => newestSet(from, provider)))
    // The set of a provider that is no longer configured is served until the first refresh.
    const rows = [...newest, ...current].filter((row) => row !== undefined)
    const distinct = [...new Map(rows.map((row) => [row.provider, row])).values()]
    const sets = distinct.map(async (row) => ({ ...row, rates: await findRates(from, row.id) }))
    const ordered = orderSets(providers, await Promise.all(sets), now().getTime())
    const [first] = ordered
    if (!first) return null
    const table = ratesFor(baseCode, mergeSets(ordered as [typeof first]), pegs)
    return table && { baseCode, rates: table, updatedAt: first.publishedAt.toISOString() }
  }

  async function loadSet(from: Reader, provider: string): Promise<RateSet | null> {
    const row = await newestSet(from, provider)
    return row ? { ...row, rates: await findRates(from, row.id) } : null
  }

  async function newestSet(from: Reader, provider: string) {
    const [row] = await from
      .select()
      .from(rateSets)
      .where(eq(rateSets.provider, provider))
      .orderBy(desc(rateSets.date))
      .limit(1)
    return row
  }

  async function findRates(from: Reader, setId: string) {
    const rows = await from.select().from(rates).where(eq(rates.setId, setId))
    return Object.fromEntries(rows.map(({ code, rate }) => [code, rate]))
  }
}
