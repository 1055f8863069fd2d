import { and, asc, eq, gt, lt, ne, type Placeholder, sql } from 'drizzle-orm'
import { sha256 } from '../../../lib/crypto.ts'
import { DAY_MS } from '../../../lib/durations.ts'
import { AppError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { countRows, keyRanges } from '../../../platform/db/key-ranges.ts'
import { hasEffect, lineKeyOf, type OrderedEvent, orderedTime } from '../lines/event-order.ts'
import type { Backlog } from '../projection/backlog.ts'
import type { Projection } from '../projection/projection.ts'
import { type BillingDb, MARKS, PROVIDER } from '../schema.ts'
import type { Erasure } from './erasure.ts'
import { type Delivery, readDelivery } from './event.ts'
import { effective, utf8 } from './event-log.ts'

type BillingDeps = {
  db: BillingDb
  projection: Projection
  erasure: Erasure
  backlog: Backlog
  /** Sandbox events are recorded and change nothing. */
  ignoresSandbox: boolean
  now: () => Date
  newId: () => string
  log: Log
}

/** Takes an event that was just stored into the state, as part of the change. */
type Fold = (tx: Tx, event: OrderedEvent, eventRow: string) => Promise<void>

/** `ok`: recorded. `duplicate`: seen before. `ignored`: recorded, but of no effect on access. */
export type DeliveryResult = 'ok' | 'duplicate' | 'ignored'

export type Billing = ReturnType<typeof createBilling>

const RETRY_LIMIT = 1_000
const TELEMETRY_LIFE = 30 * DAY_MS
/** The body of an event that said nothing. */
const NOTHING = Buffer.from('{}')

/** The log of everything that the billing provider has told us. Rows are never removed. */
export function createBilling(deps: BillingDeps) {
  const { db, projection, erasure, backlog, ignoresSandbox, now, newId, log } = deps
  const { billingEvents } = db.tables
  const findEvent = db.prepareWrite((tx) =>
    tx
      .select({ id: billingEvents.id, bodyHash: billingEvents.bodyHash })
      .from(billingEvents)
      .where(hasEventId(sql.placeholder('eventId'))),
  )
  const insertEvent = db.prepareWrite((tx) =>
    tx
      .insert(billingEvents)
      .values({
        id: sql.placeholder('id'),
        provider: PROVIDER,
        eventId: sql.placeholder('eventId'),
        type: sql.placeholder('type'),
        eventAt: sql.placeholder('eventAt'),
        receivedAt: sql.placeholder('receivedAt'),
        body: sql.placeholder('body'),
        bodyHash: sql.placeholder('bodyHash'),
        orderedAt: sql.placeholder('orderedAt'),
        lineKey: sql.placeholder('lineKey'),
        clockIsOff: sql.placeholder('clockIsOff'),
        environment: sql.placeholder('environment'),
        appUserId: sql.placeholder('appUserId'),
        outcome: sql.placeholder('outcome'),
        error: null,
        duplicates: 0,
        conflicting: false,
      })
      .onConflictDoNothing()
      .returning({ id: billingEvents.id }),
  )
  return {
    receive,
    forgetTelemetry,
    retryFailed,
    replay,
    aliasUsers,
    recordInternalEvent,
    count,
    countFailed,
    show,
  }

  /**
   * Records a delivery with its bytes as they came and folds it into the state, in one durable change.
   * An event that cannot be folded is kept, marked and tried again; it hinders no other.
   */
  async function receive(delivery: Delivery): Promise<DeliveryResult> {
    const { event, bytes } = delivery
    const bodyHash = sha256(bytes, 'hex')
    const receiveBy = (fold: Fold) =>
      db.write(async (tx) => {
        const kept = await erasure.pseudonymize(tx, delivery)
        return (await record(tx, kept, bodyHash, fold)) ?? countDuplicate(tx, event.id, bodyHash)
      })
    // Seldom does folding fail: only then is it done where it can be undone alone.
    return receiveBy(foldDirectly).catch((error) => {
      if (error instanceof AppError) throw error
      return receiveBy(foldOrMark)
    })
  }

  async function countDuplicate(tx: Tx, eventId: string, bodyHash: string) {
    const [earlier] = await findEvent(tx).execute({ eventId })
    if (!earlier) throw new Error('an event was neither stored nor known')
    const conflict = earlier.bodyHash === bodyHash ? {} : { conflicting: true }
    await tx
      .update(billingEvents)
      .set({ duplicates: sql`${billingEvents.duplicates} + 1`, ...conflict })
      .where(eq(billingEvents.id, earlier.id))
    return 'duplicate' as const
  }

  /** Stores an event, as part of the change, and folds it; null when it is known. */
  async function record(
    tx: Tx,
    { event, bytes }: Delivery,
    bodyHash: string,
    fold: Fold,
  ): Promise<DeliveryResult | null> {
    const id = newId()
    const receivedAt = now()
    const { orderedAt, isOff } = orderedTime(event, receivedAt.getTime())
    const counts = hasEffect(event) && !(ignoresSandbox && event.environment === 'SANDBOX')
    const inserted = await insertEvent(tx).execute({
      id,
      eventId: event.id,
      type: event.type,
      eventAt: event.at === null ? null : new Date(event.at),
      receivedAt,
      orderedAt,
      lineKey: counts ? lineKeyOf(event) : null,
      body: bytes,
      bodyHash,
      environment: event.environment,
      appUserId: event.appUserId,
      outcome: counts ? 'applied' : 'ignored',
      clockIsOff: isOff,
    })
    if (inserted.length === 0) return null
    if (!counts) return 'ignored'
    const ordered = { ...event, orderedAt }
    await fold(tx, ordered, id)
    return 'ok'
  }

  async function foldDirectly(tx: Tx, event: OrderedEvent, id: string) {
    if (!(await projection.appendAlone(tx, event))) await apply(tx, event, id, true)
  }

  /** An event that cannot be folded is kept without its traces, and tried again later. */
  async function foldOrMark(tx: Tx, event: OrderedEvent, id: string) {
    const failure = await tx.attempt(() => foldDirectly(tx, event, id))
    if (failure !== null) await markFailed(tx, id, failure)
  }

  /** Tries again what could not be folded. Returns how many succeeded. */
  async function retryFailed(signal: AbortSignal): Promise<number> {
    const failed = await db.read
      .select({ id: billingEvents.id })
      .from(billingEvents)
      .where(MARKS.failed(billingEvents))
      .limit(RETRY_LIMIT)
    let succeeded = 0
    for (const { id } of failed) {
      if (signal.aborted) break
      if (await replayRow(id)) succeeded++
    }
    return succeeded
  }

  /** Folds an event of the log again; false when that fails, null when there is no such event. */
  async function replay(eventId: string): Promise<boolean | null> {
    const [row] = await db.read
      .select({ id: billingEvents.id })
      .from(billingEvents)
      .where(hasEventId(eventId))
    return row ? replayRow(row.id) : null
  }

  function replayRow(id: string): Promise<boolean> {
    return db.write(async (tx) => {
      const [row] = await tx.select().from(billingEvents).where(eq(billingEvents.id, id))
      const event = row && effective(row)
      if (!event) return true
      const failure = await tx.attempt(() => apply(tx, event, id, false))
      if (failure !== null) await markFailed(tx, id, failure)
      else {
        const applied = { outcome: 'applied', error: null }
        await tx.update(billingEvents).set(applied).where(eq(billingEvents.id, id))
      }
      return failure === null
    })
  }

  async function apply(tx: Tx, event: OrderedEvent, id: string, isNew: boolean) {
    if (await projection.apply(tx, event, id, isNew)) tx.afterCommit(backlog.nudge)
  }

  async function markFailed(tx: Tx, id: string, failure: unknown) {
    tx.afterCommit(() => {
      log.error({ eventRow: id, err: failure }, 'a billing event could not be folded')
    })
    const error = failure instanceof Error ? failure.message.slice(0, 500) : 'unknown'
    await tx.update(billingEvents).set({ outcome: 'failed', error }).where(eq(billingEvents.id, id))
  }

  /** Drops the bodies of old paywall telemetry: there is much of it, and it says nothing. */
  async function forgetTelemetry(signal: AbortSignal) {
    const before = new Date(now().getTime() - TELEMETRY_LIFE)
    for (let type = 'PAYWALL_'; ; ) {
      const next = await nextType(type)
      if (next === null) return
      type = next
      const among = and(MARKS.rare(billingEvents), eq(billingEvents.type, type))
      for await (const range of keyRanges(db.read, billingEvents, billingEvents.id, { among })) {
        if (signal.aborted) return
        const old = and(
          range,
          lt(billingEvents.receivedAt, before),
          ne(billingEvents.body, NOTHING),
        )
        await db.write(async (tx) => {
          await tx.update(billingEvents).set({ body: NOTHING }).where(old)
        })
      }
    }
  }

  /** The type of telemetry that comes next in the alphabet: a step in an index, however many events there are. */
  async function nextType(after: string): Promise<string | null> {
    const { type } = billingEvents
    // The upper end comes after every name that begins with `PAYWALL_`.
    const isTelemetry = and(MARKS.rare(billingEvents), gt(type, after), lt(type, 'PAYWALL`'))
    const [next] = await db.read
      .select({ type })
      .from(billingEvents)
      .where(isTelemetry)
      .orderBy(asc(type))
      .limit(1)
    return next?.type ?? null
  }

  /** Says in the log that two of our app user ids are one customer, such as a guest who became somebody. */
  function aliasUsers(tx: Tx, from: string, to: string) {
    return own(tx, 'SUBSCRIBER_ALIAS', now().getTime(), { app_user_id: to, aliases: [from] })
  }

  /** Stores an event that we have made ourselves, such as a difference found by asking the provider. */
  function recordInternalEvent(type: string, at: number, fields: Record<string, unknown>) {
    return db.write((tx) => own(tx, type, at, fields))
  }

  async function own(tx: Tx, type: string, at: number, fields: Record<string, unknown>) {
    const event = { ...fields, type, id: `homeport:${newId()}`, event_timestamp_ms: at }
    const bytes = Buffer.from(JSON.stringify({ api_version: 'homeport', event }))
    const delivery = readDelivery({ event }, bytes)
    if (!delivery) return
    const kept = await erasure.pseudonymize(tx, delivery)
    await record(tx, kept, sha256(bytes, 'hex'), foldOrMark)
  }

  async function count() {
    const events = await countRows(db.read, billingEvents, billingEvents.id)
    return { events, failed: await countFailed() }
  }

  /** How many could not be folded. */
  async function countFailed(): Promise<number> {
    return await db.read.$count(billingEvents, MARKS.failed(billingEvents))
  }

  /** One event by the provider's id, with its body as text; null when it never came. */
  async function show(eventId: string) {
    const [row] = await db.read.select().from(billingEvents).where(hasEventId(eventId))
    return row ? { ...row, body: utf8(row.body) } : null
  }

  function hasEventId(eventId: string | Placeholder) {
    return and(eq(billingEvents.provider, PROVIDER), eq(billingEvents.eventId, eventId))
  }
}
