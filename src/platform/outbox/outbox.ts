import { asc, eq, gt, inArray, lte, or, sql } from 'drizzle-orm'
import { hmac } from '../../lib/crypto/hash.ts'
import { seal, unseal } from '../../lib/crypto/seal.ts'
import type { Log } from '../../lib/log/log.ts'
import { HOUR_MS, MINUTE_MS } from '../../lib/time/durations.ts'
import type { Tx } from '../db/db.ts'
import { prepareInsert } from '../db/prepared.ts'
import type { OutboxDb } from './schema.ts'

/** Work outside the database, such as sending an e-mail. */
type OutboxMessage = { kind: string }

/** `source` is the cause of a message, such as an IP address. Deleting the account of `userId` deletes the message. */
type Handling = { priority: number; userId: string | null; source: string | null }

type OutboxDeps = {
  db: OutboxDb
  key: Uint8Array
  now: () => Date
  newId: () => string
  log: Log
}

export type Outbox<Message extends OutboxMessage> = ReturnType<typeof createOutbox<Message>>

/** Thrown by the delivery function when every retry would be refused too. */
export class PermanentRefusal extends Error {
  override readonly name = 'PermanentRefusal'
}

/** How many messages are sent at once. */
export const SENDERS = 4

/** Delays before retries; after the last one the message is dropped. */
const RETRY_DELAYS_MS = [1, 5, 15, 60, 180, 360, 720, 1_440].map((minutes) => minutes * MINUTE_MS)
const MAX_RETRY_DELAY_MS = Math.max(...RETRY_DELAYS_MS) + HOUR_MS
const FLUSH_DELAY_MS = 2
const STOP_TIMEOUT_MS = 3_000
/** How long an instance may take to send a message before another one sends it again. */
const CLAIM_MS = 2 * MINUTE_MS

/** Delivers the messages that changes add, after their commit, and retries failed deliveries. */
export function createOutbox<Message extends OutboxMessage>(deps: OutboxDeps) {
  const { db, key, now, newId, log } = deps
  const { outbox } = db.tables
  const insert = prepareInsert(db, outbox)
  type Row = typeof outbox.$inferSelect
  const senders = new Set<Promise<void>>()
  /** The sources of the messages being sent. */
  let busySources: string[] = []
  let lastClaim: Promise<unknown> = Promise.resolve()
  let isFlushScheduled = false
  let flushCount = 0
  let stopped = false
  let deliver: ((message: Message) => Promise<void>) | null = null
  return { deliverWith, add, wake, flush, count, clear, retryAll, stop }

  /** Sets the delivery function; until then messages wait. */
  function deliverWith(work: (message: Message) => Promise<void>) {
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
    tx.afterCommit(flushSoon)
  }

  /** Waits until the reply is sent, so that its timing does not reveal whether there is a message. */
  function flushSoon() {
    if (isFlushScheduled) return
    isFlushScheduled = true
    setTimeout(() => {
      isFlushScheduled = false
      void wake()
    }, FLUSH_DELAY_MS)
  }

  /** Begins to send all due messages, without waiting for it: a server that stops waits for its jobs. */
  async function wake() {
    flushCount++
    startSender()
  }

  /** Sends all due messages. */
  async function flush() {
    await wake()
    while (senders.size > 0) await Promise.all(senders)
  }

  /** The number of waiting messages. */
  function count(): Promise<number> {
    return db.read.$count(outbox)
  }

  /** Deletes all messages as part of the change, because they can no longer be unsealed. */
  async function clear(tx: Tx) {
    await tx.delete(outbox)
  }

  /** Stops sending. A message in flight may arrive unnoticed; it is then sent again. */
  async function stop() {
    stopped = true
    await Promise.race([flush(), Bun.sleep(STOP_TIMEOUT_MS)])
  }

  function startSender() {
    if (stopped || senders.size >= SENDERS) return
    const sender = sendWhileDue().catch((err) => {
      if (!stopped) log.error({ err }, 'the outbox cannot be read')
    })
    senders.add(sender)
    void sender.finally(() => senders.delete(sender))
  }

  async function sendWhileDue() {
    while (!stopped && deliver) {
      const countBefore = flushCount
      const claimed = await claimInTurn()
      if (claimed) {
        startSender()
        await sendOne(claimed).finally(() => {
          busySources = without(busySources, claimed.source)
        })
      } else if (countBefore === flushCount) return
    }
  }

  /** Reschedules everything now, after the clock was corrected. */
  async function retryAll() {
    const at = now()
    const isWaiting = gt(outbox.dueAt, new Date(at.getTime() + CLAIM_MS))
    await db.write(async (tx) => void (await tx.update(outbox).set({ dueAt: at }).where(isWaiting)))
  }

  /** Claims one message at a time, so that each claim sees the busy sources of earlier ones. */
  function claimInTurn(): Promise<Row | null> {
    const claim = lastClaim.then(claimNext)
    lastClaim = claim.catch(() => {})
    return claim
  }

  /** Claims a due message, so that no other instance sends it too. */
  async function claimNext(): Promise<Row | null> {
    const at = now()
    // A message due later than any retry could be was added while the clock was wrong.
    const isTooFar = gt(outbox.dueAt, new Date(at.getTime() + MAX_RETRY_DELAY_MS))
    const isDue = or(lte(outbox.dueAt, at), isTooFar)
    const [due] = await db.read.select({ id: outbox.id }).from(outbox).where(isDue).limit(1)
    if (!due) return null
    const claimed = await db.write(async (tx) => {
      const isBusy = sql`CASE WHEN ${inArray(outbox.source, busySources)} THEN 1 ELSE 0 END`
      const [next] = await tx
        .select({ id: outbox.id })
        .from(outbox)
        .where(isDue)
        .orderBy(asc(outbox.priority), asc(isBusy), asc(outbox.dueAt))
        .limit(1)
      if (!next) return null
      const dueAt = new Date(now().getTime() + CLAIM_MS)
      const isThisRow = eq(outbox.id, next.id)
      const [row] = await tx.update(outbox).set({ dueAt }).where(isThisRow).returning()
      return row ?? null
    })
    if (claimed?.source) busySources.push(claimed.source)
    return claimed
  }

  async function sendOne({ id, kind, content, attempts }: Row) {
    const isThisRow = eq(outbox.id, id)
    try {
      await deliver?.(JSON.parse(unseal(key, content)))
      await db.write(async (tx) => void (await tx.delete(outbox).where(isThisRow)))
    } catch (err) {
      const wait = err instanceof PermanentRefusal ? undefined : RETRY_DELAYS_MS[attempts]
      log.warn(
        { kind, attempt: attempts + 1, willRetry: wait !== undefined, err },
        'message not delivered',
      )
      await db.write(async (tx) => {
        if (wait === undefined) await tx.delete(outbox).where(isThisRow)
        else {
          const dueAt = new Date(now().getTime() + wait)
          await tx
            .update(outbox)
            .set({ attempts: attempts + 1, dueAt })
            .where(isThisRow)
        }
      })
    }
  }
}

/** `sources` without one occurrence of `source`. */
function without(sources: string[], source: string | null): string[] {
  const at = source === null ? -1 : sources.indexOf(source)
  return at < 0 ? sources : sources.toSpliced(at, 1)
}
