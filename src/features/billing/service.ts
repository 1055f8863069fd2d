import { and, desc, eq, sql } from 'drizzle-orm'
import type { Db } from '../../db/open.ts'
import type { Tx } from '../../db/write.ts'
import { hmac, sha256 } from '../../lib/crypto.ts'
import { type BillingEvent, hasEffect } from './event.ts'

export type BillingDeps = {
  db: Db
  /** Makes pseudonyms of people who are gone. */
  pseudonymKey: Uint8Array
  now: () => Date
  newId: () => string
}

/** `ok`: recorded. `duplicate`: seen before. `ignored`: recorded, but of no effect on access. */
export type Receipt = 'ok' | 'duplicate' | 'ignored'

export type EventFilter = { type?: string; user?: string; failed?: boolean; limit?: number }

export type Billing = ReturnType<typeof createBilling>

const PROVIDER = 'revenuecat'
const LIST_LIMIT = 50

/** The log of everything that the billing provider has told us. Rows are never removed. */
export function createBilling({ db, pseudonymKey, now, newId }: BillingDeps) {
  const { billingEvents } = db.tables
  const findEvent = db.prepareWrite((tx) =>
    tx
      .select({ id: billingEvents.id, bodyHash: billingEvents.bodyHash })
      .from(billingEvents)
      .where(
        and(
          eq(billingEvents.provider, PROVIDER),
          eq(billingEvents.eventId, sql.placeholder('eventId')),
        ),
      ),
  )
  const insertEvent = db.prepareWrite((tx) =>
    tx.insert(billingEvents).values({
      id: sql.placeholder('id'),
      provider: PROVIDER,
      eventId: sql.placeholder('eventId'),
      type: sql.placeholder('type'),
      // As raw milliseconds: a placeholder of a time column cannot be null.
      eventAt: sql`${sql.placeholder('eventAt')}`,
      receivedAt: sql.placeholder('receivedAt'),
      body: sql.placeholder('body'),
      bodyHash: sql.placeholder('bodyHash'),
      environment: sql.placeholder('environment'),
      appUserId: sql.placeholder('appUserId'),
      outcome: sql.placeholder('outcome'),
      error: null,
      duplicates: 0,
      conflicting: false,
    }),
  )
  return { receive, list, listOf, show, forgetPerson }

  /** Records a delivery with its bytes as they came. When this returns, it is durable. */
  async function receive(event: BillingEvent, bytes: Uint8Array): Promise<Receipt> {
    const bodyHash = sha256(bytes, 'hex')
    return db.write(async (tx) => {
      const [earlier] = await findEvent().execute({ eventId: event.id })
      if (earlier) {
        const conflict = earlier.bodyHash === bodyHash ? {} : { conflicting: true }
        await tx
          .update(billingEvents)
          .set({ duplicates: sql`${billingEvents.duplicates} + 1`, ...conflict })
          .where(eq(billingEvents.id, earlier.id))
        return 'duplicate'
      }
      // The fold into subscription state belongs here, inside the change that records the event.
      const outcome = hasEffect(event) ? 'applied' : 'ignored'
      await insertEvent().execute({
        id: newId(),
        eventId: event.id,
        type: event.type,
        eventAt: event.at?.getTime() ?? null,
        receivedAt: now(),
        body: bytes,
        bodyHash,
        environment: event.environment,
        appUserId: event.appUserId,
        outcome,
      })
      return outcome === 'ignored' ? 'ignored' : 'ok'
    })
  }

  /** The newest events first, without their bodies. */
  async function list({ type, user, failed, limit = LIST_LIMIT }: EventFilter) {
    const rows = await db.read
      .select({
        eventId: billingEvents.eventId,
        type: billingEvents.type,
        eventAt: billingEvents.eventAt,
        receivedAt: billingEvents.receivedAt,
        environment: billingEvents.environment,
        appUserId: billingEvents.appUserId,
        outcome: billingEvents.outcome,
        duplicates: billingEvents.duplicates,
      })
      .from(billingEvents)
      .where(
        and(
          type === undefined ? undefined : eq(billingEvents.type, type),
          user === undefined ? undefined : eq(billingEvents.appUserId, user),
          failed ? eq(billingEvents.outcome, 'failed') : undefined,
        ),
      )
      .orderBy(desc(billingEvents.receivedAt), desc(billingEvents.id))
      .limit(limit)
    return rows
  }

  /**
   * Takes what is personal out of a user's events as part of the change: the id becomes a pseudonym, the
   * attributes go. The hash of what came stays.
   */
  async function forgetPerson(tx: Tx, userId: string) {
    const pseudonym = `deleted:${hmac(pseudonymKey, userId)}`
    const own = await tx
      .select({ id: billingEvents.id, body: billingEvents.body })
      .from(billingEvents)
      .where(eq(billingEvents.appUserId, userId))
    for (const { id, body } of own) {
      const scrubbed = withoutPerson(body.toString('utf8').replaceAll(userId, pseudonym))
      await tx
        .update(billingEvents)
        .set({ body: Buffer.from(scrubbed), appUserId: pseudonym })
        .where(eq(billingEvents.id, id))
    }
  }

  /** All events of a user with their bodies, for the export. */
  async function listOf(userId: string) {
    const rows = await db.read
      .select({ receivedAt: billingEvents.receivedAt, body: billingEvents.body })
      .from(billingEvents)
      .where(eq(billingEvents.appUserId, userId))
      .orderBy(billingEvents.receivedAt)
    return rows.map(({ receivedAt, body }) => ({
      receivedAt: receivedAt.toISOString(),
      body: body.toString('utf8'),
    }))
  }

  /** One event by the provider's id, with its body as text; null when it never came. */
  async function show(eventId: string) {
    const [row] = await db.read
      .select()
      .from(billingEvents)
      .where(eq(billingEvents.eventId, eventId))
    return row ? { ...row, body: row.body.toString('utf8') } : null
  }
}

/** The body without the attributes that the provider keeps of a person. */
function withoutPerson(body: string): string {
  return JSON.stringify(JSON.parse(body), (key, value) =>
    key === 'subscriber_attributes' ? undefined : value,
  )
}
