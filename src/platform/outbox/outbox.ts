import { asc, eq, inArray, type SQL, sql } from 'drizzle-orm'
import { hmac } from '../../lib/crypto/hash.ts'
import { seal, unseal } from '../../lib/crypto/seal.ts'
import type { Log } from '../../lib/log/log.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import type { Tx } from '../db/db.ts'
import { prepareInsert } from '../db/prepared.ts'
import { createQueue, type Leased } from '../queue/queue.ts'
import { retryDelay } from '../queue/retry-delay.ts'
import type { Capacity } from '../queue/workers.ts'
import type { OutboxDb } from './schema.ts'

/** Work outside the database, such as sending an e-mail. */
type OutboxMessage = { kind: string }

/** `source`: a cause such as an IP address. Deleting the account of `userId` deletes the message. */
type Handling = { priority: number; userId: string | null; source: string | null }

type OutboxDeps = {
  db: OutboxDb
  key: Uint8Array
  now: () => Date
  newId: () => string
  log: Log
}

type Row = OutboxDb['tables']['outbox']['$inferSelect']

/** When the process stops, the signal aborts, and the message is sent again. */
type Deliver<Message> = (message: Message, signal: AbortSignal) => Promise<void>

export type Outbox<Message extends OutboxMessage> = ReturnType<typeof createOutbox<Message>>

/** Thrown by the delivery function when every retry would be refused too. */
export class PermanentRefusal extends Error {
  override readonly name = 'PermanentRefusal'
}

export const SENDERS = 4

/** After the last delay the message is dropped. */
const RETRY_DELAYS_MS = [1, 5, 15, 60, 180, 360, 720, 1_440].map((minutes) => minutes * MINUTE_MS)

/** Delivers the messages that changes add, after their commit, and retries failed deliveries. */
export function createOutbox<Message extends OutboxMessage>(deps: OutboxDeps) {
  const { db, key, now, newId, log } = deps
  const { outbox } = db.tables
  const insert = prepareInsert(db, outbox)
  let deliver: Deliver<Message> | null = null
  const queue = createQueue({
    ...deps,
    name: 'outbox',
    table: outbox,
    id: outbox.id,
    slots: SENDERS,
    toKey: ({ source }) => source,
    leaseMs: 2 * MINUTE_MS,
    maxDelayMs: Math.max(...RETRY_DELAYS_MS),
    findDue,
    load: (tx, which) => tx.select().from(outbox).where(which),
    work: send,
  })
  return { deliverWith, add, count, clear, ...queue }

  /** Sets the delivery function; until then messages wait. */
  function deliverWith(work: Deliver<Message>) {
    deliver = work
  }

  /** Adds a message as part of the change; it is sent soon after the commit. */
  async function add(tx: Tx, message: Message, { priority, userId, source }: Handling) {
    await insert(tx, {
      id: newId(),
      kind: message.kind,
      content: seal(key, JSON.stringify(message)),
      attempts: 0,
      dueAt: now(),
      priority,
      userId,
      source: source && hmac(key, source),
    })
    queue.wakeAfter(tx)
  }

  function count(): Promise<number> {
    return db.read.$count(outbox)
  }

  /** Deletes all messages as part of the change, because they can no longer be unsealed. */
  async function clear(tx: Tx) {
    await tx.delete(outbox)
  }

  /** One message at a time, so that each claim sees the sources of the messages being sent. */
  async function findDue(isDue: SQL, { busyKeys }: Capacity) {
    if (!deliver) return []
    const isBusy = sql`CASE WHEN ${inArray(outbox.source, busyKeys)} THEN 1 ELSE 0 END`
    return db.read
      .select({ id: outbox.id })
      .from(outbox)
      .where(isDue)
      .orderBy(asc(outbox.priority), asc(isBusy), asc(outbox.dueAt))
      .limit(1)
  }

  /** Delivers a message. If the lease was lost, a failure is left to the instance that has it now. */
  async function send(message: Leased<Row>, signal: AbortSignal) {
    const { id, kind, content, attempts } = message
    try {
      await deliver?.(JSON.parse(unseal(key, content)), signal)
    } catch (err) {
      signal.throwIfAborted()
      const delays = err instanceof PermanentRefusal ? [] : RETRY_DELAYS_MS
      const wait = retryDelay(attempts, { delays })
      log.warn(
        { kind, attempt: attempts + 1, willRetry: wait !== null, err },
        'message not delivered',
      )
      if (wait !== null) {
        const dueAt = new Date(now().getTime() + wait)
        await db.write((tx) => queue.finish(tx, message, { attempts: attempts + 1, dueAt }))
        return
      }
    }
    await db.write(async (tx) => void (await tx.delete(outbox).where(eq(outbox.id, id))))
  }
}
