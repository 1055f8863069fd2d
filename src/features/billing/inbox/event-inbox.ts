import { and, eq, sql } from 'drizzle-orm'
import { AppError } from '../../../lib/errors.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { prepareInsertNew } from '../../../platform/db/prepared.ts'
import type { Registry } from '../../../platform/metrics/registry.ts'
import type { Failure } from '../../../platform/metrics/tallies.ts'
import {
  canAffectAccess,
  computeOrderingTime,
  findPurchaseKey,
  type OrderedEvent,
} from '../purchases/event-order.ts'
import type { BillingDb } from '../schema.ts'
import type { Erasure } from './erasure.ts'
import { type BillingEvent, type Delivery, readDelivery } from './event.ts'
import type { EventFolding } from './event-folding.ts'
import { viewBytes } from './event-log.ts'
import type { SignedRecords } from './signed-records.ts'
import type { Transactions } from './transactions.ts'

type EventInboxDeps = {
  db: BillingDb
  folding: Pick<EventFolding, 'fold' | 'foldOrMarkFailed'>
  erasure: Erasure
  /** Runs in the transaction that applied an event of a provider. */
  onApplied: (tx: Tx, provider: string, event: BillingEvent) => Promise<void>
  signedRecords: Pick<SignedRecords, 'keep'>
  transactions: Pick<Transactions, 'add'>
  /** Sandbox events are recorded but change nothing. */
  ignoresSandbox: boolean
  registry: Pick<Registry, 'observe'>
  now: () => Date
  newId: () => string
}

/** Runs in the transaction that stored the event. May return whether the fold failed. */
type FoldEvent = (tx: Tx, event: OrderedEvent, eventRow: string) => Promise<unknown>

/** `ok`: recorded. `duplicate`: received before. `ignored`: recorded, but without effect on access. */
export type DeliveryResult = 'ok' | 'duplicate' | 'ignored'

export type EventInbox = ReturnType<typeof createEventInbox>

/** Records events in the log. Rows are never removed. */
export function createEventInbox(deps: EventInboxDeps) {
  const { db, erasure, onApplied, signedRecords, transactions, now, newId } = deps
  const { ignoresSandbox, registry } = deps
  const { fold, foldOrMarkFailed } = deps.folding
  const { billingEvents } = db.tables
  const findEvent = db.prepareWrite((tx) =>
    tx
      .select({ id: billingEvents.id, bodyHash: billingEvents.bodyHash })
      .from(billingEvents)
      .where(
        and(
          eq(billingEvents.provider, sql.placeholder('provider')),
          eq(billingEvents.eventId, sql.placeholder('eventId')),
        ),
      ),
  )
  const insertEvent = prepareInsertNew(db, billingEvents)
  return { receive, recordOnce, recordOwnEvent, aliasUsers }

  /**
   * Records a delivery with its exact bytes, in one transaction with `inSameTransaction`. An event that cannot be
   * folded does not block others.
   */
  async function receive(
    delivery: Delivery,
    inSameTransaction: (tx: Tx) => Promise<void> = async () => {},
  ): Promise<DeliveryResult> {
    const { provider, event } = delivery
    let failure: Failure = null
    const receiveWith = (foldEvent: FoldEvent) =>
      db.write(async (tx) => {
        failure = event.problem?.outcome === 'failed' ? 'hard' : null
        await inSameTransaction(tx)
        const scrubbed = await erasure.pseudonymize(tx, delivery)
        const recorded = await record(tx, scrubbed, async (...folded) => {
          if (await foldEvent(...folded)) failure = 'hard'
        })
        if (recorded !== null) return recorded
        failure = (await countDuplicate(tx, delivery)) ? 'soft' : null
        return 'duplicate' as const
      })
    // A fold rarely fails, so only the second try pays for a savepoint.
    const result = await receiveWith(fold).catch((error) => {
      if (error instanceof AppError) throw error
      return receiveWith(foldOrMarkFailed)
    })
    const delay = event.at === null ? null : Math.max(0, now().getTime() - event.at) / 1000
    const value = result === 'duplicate' ? null : delay
    registry.observe(`billing ${provider}`, { value, failure })
    return result
  }

  /** Returns whether the body differs from the first one. */
  async function countDuplicate(tx: Tx, { provider, event, hash }: Delivery): Promise<boolean> {
    const [earlier] = await findEvent(tx).execute({ provider, eventId: event.id })
    if (!earlier) throw new Error('the event was neither stored nor found')
    const hasConflict = earlier.bodyHash !== hash
    const duplicates = sql`${billingEvents.duplicates} + 1`
    const change = { duplicates, ...(hasConflict ? { conflicting: true } : {}) }
    await tx.update(billingEvents).set(change).where(eq(billingEvents.id, earlier.id))
    return hasConflict
  }

  /** Null if the event was stored before. */
  async function record(
    tx: Tx,
    { provider, event, bytes, signed, hash }: Delivery,
    foldEvent: FoldEvent,
  ): Promise<DeliveryResult | null> {
    const id = newId()
    const receivedAt = now()
    const { orderedAt, clockIsOff } = computeOrderingTime(event, receivedAt.getTime())
    const hasEffect = canAffectAccess(event) && !(ignoresSandbox && event.environment === 'SANDBOX')
    const purchaseKey = hasEffect ? findPurchaseKey(event) : null
    const isNew = await insertEvent(tx, {
      id,
      provider,
      eventId: event.id,
      type: event.type,
      eventAt: event.at === null ? null : new Date(event.at),
      receivedAt,
      orderedAt,
      purchaseKey,
      body: viewBytes(bytes),
      bodyHash: hash,
      environment: event.environment,
      appUserId: event.appUserId,
      outcome: event.problem?.outcome ?? (hasEffect ? 'applied' : 'ignored'),
      error: event.problem?.reason ?? null,
      clockIsOff,
      duplicates: 0,
      conflicting: false,
    })
    if (!isNew) return null
    if (signed !== undefined) await signedRecords.keep(tx, id, signed)
    if (!hasEffect) return 'ignored'
    const { transactionId } = event
    // Sent together, because each round trip to a remote database takes a while.
    await Promise.all([
      purchaseKey === null ? null : transactions.add(tx, { transactionId, purchaseKey }),
      foldEvent(tx, { ...event, orderedAt }, id),
    ])
    await onApplied(tx, provider, event)
    return 'ok'
  }

  /** Joins the ids of one customer, such as when a guest signs up. */
  function aliasUsers(tx: Tx, from: string, to: string) {
    return recordOwnEvent(tx, 'SUBSCRIBER_ALIAS', now().getTime(), {
      app_user_id: to,
      aliases: [from],
    })
  }

  /** In the caller's transaction. Skips an event whose `id` is known. */
  async function recordOwnEvent(tx: Tx, type: string, at: number, fields: Record<string, unknown>) {
    const event = { id: `homeport:${newId()}`, ...fields, type, event_timestamp_ms: at }
    const bytes = Buffer.from(JSON.stringify({ api_version: 'homeport', event }))
    const delivery = readDelivery({ event }, bytes)
    if (delivery) await recordOnce(tx, delivery)
  }

  /** In the caller's transaction; null if it was recorded before. */
  async function recordOnce(tx: Tx, delivery: Delivery): Promise<DeliveryResult | null> {
    return record(tx, await erasure.pseudonymize(tx, delivery), foldOrMarkFailed)
  }
}
