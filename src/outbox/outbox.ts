import { asc, eq, lte } from 'drizzle-orm'
import type { Tx } from '../db/db.ts'
import type { Log } from '../lib/log.ts'
import { oneAtATime } from '../lib/one-at-a-time.ts'
import { seal, unseal } from '../lib/seal.ts'
import type { OutboxDb } from './schema.ts'

/** Something to be done outside of changes, such as a mail to be sent. */
type OutboxMessage = { kind: string }

type OutboxDeps = {
  db: OutboxDb
  key: Uint8Array
  now: () => Date
  newId: () => string
  log: Log
}

export type Outbox<Message extends OutboxMessage> = ReturnType<typeof createOutbox<Message>>

const MINUTE = 60_000
/** Waits before the next tries, in ms; after the last one the message is given up. */
const RETRIES = [1, 5, 15, 60, 180, 360, 720, 1_440].map((minutes) => minutes * MINUTE)
const AFTER_REPLY = 2
const STOP_TIMEOUT = 3_000
/** For so long a message is with whoever sends it: when nothing was heard by then, it is sent again, in ms. */
const CLAIM = 2 * MINUTE

/** Sends to the outside what changes have left here, after their commit and until it succeeds. */
export function createOutbox<Message extends OutboxMessage>(deps: OutboxDeps) {
  const { db, key, now, newId, log } = deps
  const { outbox } = db.tables
  type Row = typeof outbox.$inferSelect
  let stopped = false
  let deliver: ((message: Message) => Promise<void>) | null = null
  /** Sends everything that is due. */
  const flush = oneAtATime(sendAll)
  return { deliverWith, add, nudge, flush, count, clear, stop }

  /** Says who delivers; until then messages wait. */
  function deliverWith(work: (message: Message) => Promise<void>) {
    deliver = work
  }

  /** Leaves a message as part of the change. Call `nudge` after it. */
  async function add(tx: Tx, message: Message) {
    const content = seal(key, JSON.stringify(message))
    await tx
      .insert(outbox)
      .values({ id: newId(), kind: message.kind, content, attempts: 0, dueAt: now() })
  }

  /** Sends once the reply that is being made is on its way: its time must not tell what there is to send. */
  function nudge() {
    setTimeout(() => {
      flush().catch((err) => {
        if (!stopped) log.error({ err }, 'the outbox cannot be read')
      })
    }, AFTER_REPLY)
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

  async function sendAll() {
    while (!stopped && deliver) {
      const claimed = await claimNext()
      if (claimed === null) return
      await sendOne(claimed)
    }
  }

  /** Takes a message that is due, so that no other instance sends it as well. */
  async function claimNext(): Promise<Row | null> {
    const isDue = lte(outbox.dueAt, now())
    const [due] = await db.read.select({ id: outbox.id }).from(outbox).where(isDue).limit(1)
    if (!due) return null
    return db.write(async (tx) => {
      const [row] = await tx.select().from(outbox).where(isDue).orderBy(asc(outbox.dueAt)).limit(1)
      if (!row) return null
      const dueAt = new Date(now().getTime() + CLAIM)
      await tx.update(outbox).set({ dueAt }).where(eq(outbox.id, row.id))
      return row
    })
  }

  async function sendOne({ id, kind, content, attempts }: Row) {
    try {
      await deliver?.(JSON.parse(unseal(key, content)))
      await db.write(async (tx) => {
        await tx.delete(outbox).where(eq(outbox.id, id))
      })
    } catch (err) {
      const wait = RETRIES[attempts]
      log.warn({ kind, attempt: attempts + 1, willRetry: wait !== undefined, err }, 'not delivered')
      await db.write(async (tx) => {
        const isSame = eq(outbox.id, id)
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
