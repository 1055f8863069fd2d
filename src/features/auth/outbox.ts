import { asc, eq, lte } from 'drizzle-orm'
import type { Db } from '../../db/open.ts'
import type { Tx } from '../../db/write.ts'
import type { Log } from '../../lib/log.ts'
import { oneAtATime } from '../../lib/one-at-a-time.ts'
import { seal, unseal } from '../../lib/seal.ts'
import type { Mail } from './mails.ts'

/**
 * What waits to be done outside of changes: a mail, the end of a grant that Apple has to be told of, or a
 * forgotten password, so that its reply takes the same time whether or not the address is known.
 */
export type Parcel =
  | ({ kind: 'mail' } & Mail)
  | { kind: 'forgotten-password'; email: string }
  | { kind: 'apple-revocation'; clientId: string; token: string }

export type OutboxDeps = {
  db: Db
  key: Uint8Array
  deliver: (parcel: Parcel) => Promise<void>
  now: () => Date
  newId: () => string
  log: Log
}

export type Outbox = ReturnType<typeof createOutbox>

const MINUTE = 60_000
/** Waits before the next tries, in ms; after the last one the parcel is given up. */
const RETRIES = [1, 5, 15, 60, 180, 360, 720, 1_440].map((minutes) => minutes * MINUTE)
const BATCH = 20
const AFTER_REPLY = 2
const STOP_TIMEOUT = 3_000

/** Sends to the outside what changes have left here, after their commit and until it succeeds. */
export function createOutbox({ db, key, deliver, now, newId, log }: OutboxDeps) {
  const { outbox } = db.tables
  let stopped = false
  /** Sends everything that is due. */
  const flush = oneAtATime(sendAll)
  return { add, nudge, flush, stop }

  /** Leaves a parcel as part of the change. Call `nudge` after it. */
  async function add(tx: Tx, parcel: Parcel) {
    const content = seal(key, JSON.stringify(parcel))
    await tx
      .insert(outbox)
      .values({ id: newId(), kind: parcel.kind, content, attempts: 0, dueAt: now() })
  }

  /** Sends once the reply that is being made is on its way: its time must not tell what there is to send. */
  function nudge() {
    setTimeout(() => {
      flush().catch((err) => {
        if (!stopped) log.error({ err }, 'the outbox cannot be read')
      })
    }, AFTER_REPLY)
  }

  /** Sends nothing more. What is on its way may still arrive; if we do not learn of it, it is sent again. */
  async function stop() {
    stopped = true
    await Promise.race([flush(), Bun.sleep(STOP_TIMEOUT)])
  }

  async function sendAll() {
    while (!stopped) {
      const due = await db.read
        .select()
        .from(outbox)
        .where(lte(outbox.dueAt, now()))
        .orderBy(asc(outbox.dueAt))
        .limit(BATCH)
      if (due.length === 0) return
      for (const row of due) if (!stopped) await sendOne(row)
    }
  }

  async function sendOne({ id, kind, content, attempts }: typeof outbox.$inferSelect) {
    try {
      await deliver(JSON.parse(unseal(key, content)))
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
