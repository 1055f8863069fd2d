import { and, eq, lt } from 'drizzle-orm'
import type { Tx } from '../../../db/db.ts'
import type { AttachmentsDb } from '../schema.ts'
import type { Row } from './prepare-upload.ts'

/** What is kept of an upload in order to answer it again. */
export type Stored = Pick<Row, 'key' | 'type' | 'fileName' | 'itemType'>

/** Notes the answer, as part of the change that stores the files. */
export type Remember = (tx: Tx, rows: Row[]) => Promise<void>

export type Retries = ReturnType<typeof createRetries>

const LIFE = 24 * 60 * 60 * 1000

/** An upload that comes again under the same key within 24 hours gets the first answer, and stores nothing. */
export function createRetries({ db, now }: { db: AttachmentsDb; now: () => Date }) {
  const { uploadRetries } = db.tables
  const inFlight = new Map<string, Promise<Stored[]>>()
  return { once, list, sweep }

  /** Does `work` unless it was done, or is being done, under this key. Without a key it is always done. */
  async function once(
    userId: string,
    retryKey: string | null,
    work: (remember: Remember) => Promise<Stored[]>,
  ): Promise<Stored[]> {
    if (retryKey === null) return work(async () => {})
    const name = `${userId} ${retryKey}`
    const running = inFlight.get(name)
    if (running) return running
    const doing = answerOrDo(userId, retryKey, work).finally(() => inFlight.delete(name))
    inFlight.set(name, doing)
    return doing
  }

  async function answerOrDo(
    userId: string,
    retryKey: string,
    work: (remember: Remember) => Promise<Stored[]>,
  ): Promise<Stored[]> {
    const isSame = and(eq(uploadRetries.userId, userId), eq(uploadRetries.retryKey, retryKey))
    const [done] = await db.read.select().from(uploadRetries).where(isSame)
    if (done && done.expiresAt > now()) return done.answer as Stored[]
    return work(async (tx, rows) => {
      const answer = rows.map(({ key, type, fileName, itemType }) => ({
        key,
        type,
        fileName,
        itemType,
      }))
      const expiresAt = new Date(now().getTime() + LIFE)
      await tx
        .insert(uploadRetries)
        .values({ userId, retryKey, answer, expiresAt })
        .onConflictDoUpdate({
          target: [uploadRetries.userId, uploadRetries.retryKey],
          set: { answer, expiresAt },
        })
    })
  }

  /** The keys under which a user's uploads are known for a day, for the export. */
  async function list(userId: string) {
    const rows = await db.read.select().from(uploadRetries).where(eq(uploadRetries.userId, userId))
    return rows.map(({ retryKey, expiresAt }) => ({
      idempotencyKey: retryKey,
      expiresAt: expiresAt.toISOString(),
    }))
  }

  async function sweep() {
    await db.write(async (tx) => {
      await tx.delete(uploadRetries).where(lt(uploadRetries.expiresAt, now()))
    })
  }
}
