import { asc, eq, gt, inArray, lte, or, sql } from 'drizzle-orm'
import { hmac } from '../../lib/crypto.ts'
import { HOUR_MS, MINUTE_MS } from '../../lib/durations.ts'
import type { Log } from '../../lib/log.ts'
import { seal, unseal } from '../../lib/seal.ts'
import type { Tx } from '../db/db.ts'
import type { OutboxDb } from './schema.ts'

/** Something to be done outside of changes, such as a mail to be sent. */
type OutboxMessage = { kind: string }

/** `source` is what caused a message, such as an IP address; with the account of `userId` it is removed. */
type Handling = { priority: number; userId: string | null; source: string | null }

type OutboxDeps = {
  db: OutboxDb
  key: Uint8Array
  now: () => Date
  newId: () => string
  log: Log
}

export type Outbox<Message extends OutboxMessage> = ReturnType<typeof createOutbox<Message>>

/** Thrown by whoever delivers when another try would be refused as well. */
export class PermanentRefusal extends Error {
  override readonly name = 'PermanentRefusal'
}

/** How many messages are on their way at once. */
export const SENDERS = 4

/** Waits before the next tries, in ms; after the last one the message is given up. */
const RETRIES = [1, 5, 15, 60, 180, 360, 720, 1_440].map((minutes) => minutes * MINUTE_MS)
const LONGEST_WAIT = Math.max(...RETRIES) + HOUR_MS
const AFTER_REPLY = 2
const STOP_TIMEOUT = 3_000
/** For so long a message is with whoever sends it: when nothing was heard by then, it is sent again, in ms. */
const CLAIM = 2 * MINUTE_MS

/** Sends to the outside what changes have left here, after their commit and until it succeeds. */
export function createOutbox<Message extends OutboxMessage>(deps: OutboxDeps) {
  const { db, key, now, newId, log } = deps
  const { outbox } = db.tables
  type Row = typeof outbox.$inferSelect
  const senders = new Set<Promise<void>>()
  /** The sources of the messages that are on their way. */
  let busySources: string[] = []
  let lastClaim: Promise<unknown> = Promise.resolve()
  let willFlush = false
  let timesAsked = 0
  let stopped = false
  let deliver: ((message: Message) => Promise<void>) | null = null
  return { deliverWith, add, flush, count, clear, stop }

  /** Says who delivers; until then messages wait. */
  function deliverWith(work: (message: Message) => Promise<void>) {
    deliver = work
  }

  /** Leaves a message as part of the change; it is sent soon after the commit. */
  async function add(tx: Tx, message: Message, { priority, userId, source }: Handling) {
    await tx.insert(outbox).values({
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

  /** By then the reply is on its way: its time must not tell what there is to send. */
  function flushSoon() {
    if (willFlush) return
    willFlush = true
    setTimeout(() => {
      willFlush = false
      void flush()
    }, AFTER_REPLY)
  }

  /** Sends everything that is due. */
  async function flush() {
    timesAsked++
    startSender()
    while (senders.size > 0) await Promise.all(senders)
  }

  /** How many messages wait. */
  function count(): Promise<number> {
    return db.read.$count(outbox)
  }

  /** Drops all messages, as part of the change: nobody can open them any more. */
  async function clear(tx: Tx) {
    await tx.delete(outbox)
  }

  /** Sends nothing more. What is on its way may still arrive; if we do not learn of it, it is sent again. */
  async function stop() {
    stopped = true
    await Promise.race([flush(), Bun.sleep(STOP_TIMEOUT)])
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
      const asked = timesAsked
      const claimed = await claimInTurn()
      if (claimed) {
        startSender()
        await sendOne(claimed).finally(() => {
          busySources = without(busySources, claimed.source)
        })
      } else if (asked === timesAsked) return
    }
  }

  /** Each claim sees the sources that those before it have made busy. */
  function claimInTurn(): Promise<Row | null> {
    const claim = lastClaim.then(claimNext)
    lastClaim = claim.catch(() => {})
    return claim
  }

  /** Takes a message that is due, so that no other instance sends it as well. */
  async function claimNext(): Promise<Row | null> {
    const at = now()
    // What waits for longer than any try does was left while the clock was wrong.
    const isTooFar = gt(outbox.dueAt, new Date(at.getTime() + LONGEST_WAIT))
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
      const dueAt = new Date(now().getTime() + CLAIM)
      const isSame = eq(outbox.id, next.id)
      const [row] = await tx.update(outbox).set({ dueAt }).where(isSame).returning()
      return row ?? null
    })
    if (claimed?.source) busySources.push(claimed.source)
    return claimed
  }

  async function sendOne({ id, kind, content, attempts }: Row) {
    const isSame = eq(outbox.id, id)
    try {
      await deliver?.(JSON.parse(unseal(key, content)))
      await db.write(async (tx) => void (await tx.delete(outbox).where(isSame)))
    } catch (err) {
      const wait = err instanceof PermanentRefusal ? undefined : RETRIES[attempts]
      log.warn({ kind, attempt: attempts + 1, willRetry: wait !== undefined, err }, 'not delivered')
      await db.write(async (tx) => {
        if (wait === undefined) await tx.delete(outbox).where(isSame)
        else {
          const dueAt = new Date(now().getTime() + wait)
          await tx
            .update(outbox)
            .set({ attempts: attempts + 1, dueAt })
            .where(isSame)
        }
      })
    }
  }
}

/** All of `sources` but one of those that equal `source`. */
function without(sources: string[], source: string | null): string[] {
  const at = source === null ? -1 : sources.indexOf(source)
  return at < 0 ? sources : sources.toSpliced(at, 1)
}
