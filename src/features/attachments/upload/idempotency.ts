import { and, asc, desc, eq, lt } from 'drizzle-orm'
import { type AppError, invalidField } from '../../../lib/errors.ts'
import { DAY_MS } from '../../../lib/time/durations.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { prepareUpsert } from '../../../platform/db/prepared.ts'
import type { AttachmentsDb } from '../schema.ts'
import type { Row } from './prepare-upload.ts'

type StoredFile = Pick<Row, 'key' | 'type' | 'fileName' | 'itemType'>

/** Records the response, in the transaction that stores the files. */
export type RecordReply = (tx: Tx, rows: Row[]) => Promise<void>

export type IdempotencyStore = ReturnType<typeof createIdempotencyStore>

const LIFETIME_MS = DAY_MS
/** Stored responses per user; a phone retries an upload long before it sends this many others. */
const MAX_PER_USER = 100
/** Limits the deletions per upload: an earlier version kept any number of responses. */
const MAX_DROPPED_AT_ONCE = 50

type Running = { fingerprint: string; stored: Promise<StoredFile[]> }

/**
 * Stores responses for 24 hours, or until 100 later uploads. A different upload (by `fingerprint`) with the same key
 * throws `validation_failed`.
 */
export function createIdempotencyStore({ db, now }: { db: AttachmentsDb; now: () => Date }) {
  const { uploadRetries } = db.tables
  const storeReply = prepareUpsert(db, uploadRetries)
  const inFlight = new Map<string, Running>()
  return { isKnown, once, list, sweep }

  /** True also while the upload is being stored. */
  async function isKnown(userId: string, retryKey: string | null): Promise<boolean> {
    if (retryKey === null) return false
    return inFlight.has(`${userId} ${retryKey}`) || (await find(userId, retryKey)) !== null
  }

  /** Runs `work` once per key; without a key, runs it every time. */
  async function once(
    userId: string,
    retryKey: string | null,
    fingerprint: string,
    work: (recordReply: RecordReply) => Promise<StoredFile[]>,
  ): Promise<StoredFile[]> {
    if (retryKey === null) return work(async () => {})
    const name = `${userId} ${retryKey}`
    const running = inFlight.get(name)
    if (running && running.fingerprint !== fingerprint) throw keyReused()
    if (running) return running.stored
    const stored = repeatReplyOrRun(userId, retryKey, fingerprint, work).finally(() =>
      inFlight.delete(name),
    )
    inFlight.set(name, { fingerprint, stored })
    return stored
  }

  async function repeatReplyOrRun(
    userId: string,
    retryKey: string,
    fingerprint: string,
    work: (recordReply: RecordReply) => Promise<StoredFile[]>,
  ): Promise<StoredFile[]> {
    const earlier = await find(userId, retryKey)
    if (earlier && (earlier.fingerprint ?? fingerprint) !== fingerprint) throw keyReused()
    if (earlier) return earlier.answer as StoredFile[]
    return work(async (tx, rows) => {
      // Another instance may have stored the upload in the meantime.
      const [other] = await tx.select().from(uploadRetries).where(hasKey(userId, retryKey))
      if (other && other.expiresAt > now()) {
        if ((other.fingerprint ?? fingerprint) !== fingerprint) throw keyReused()
        throw new StoredElsewhere(other.answer as StoredFile[])
      }
      const answer = rows.map(({ key, type, fileName, itemType }) => ({
        key,
        type,
        fileName,
        itemType,
      }))
      const expiresAt = new Date(now().getTime() + LIFETIME_MS)
      await storeReply(tx, { userId, retryKey, fingerprint, answer, expiresAt })
      await deleteOldest(tx, userId)
    }).catch((error) => {
      if (error instanceof StoredElsewhere) return error.answer
      throw error
    })
  }

  async function deleteOldest(tx: Tx, userId: string) {
    const older = await tx
      .select({ retryKey: uploadRetries.retryKey })
      .from(uploadRetries)
      .where(eq(uploadRetries.userId, userId))
      .orderBy(desc(uploadRetries.expiresAt), desc(uploadRetries.retryKey))
      .limit(MAX_DROPPED_AT_ONCE)
      .offset(MAX_PER_USER)
    for (const { retryKey } of older) await tx.delete(uploadRetries).where(hasKey(userId, retryKey))
  }

  function hasKey(userId: string, retryKey: string) {
    return and(eq(uploadRetries.userId, userId), eq(uploadRetries.retryKey, retryKey))
  }

  async function find(userId: string, retryKey: string) {
    const [earlier] = await db.read.select().from(uploadRetries).where(hasKey(userId, retryKey))
    return earlier && earlier.expiresAt > now() ? earlier : null
  }

  /** For the export. */
  async function list(userId: string) {
    const rows = await db.read
      .select()
      .from(uploadRetries)
      .where(eq(uploadRetries.userId, userId))
      .orderBy(asc(uploadRetries.retryKey))
    return rows.map(({ retryKey, expiresAt }) => ({
      idempotencyKey: retryKey,
      expiresAt: expiresAt.toISOString(),
    }))
  }

  async function sweep() {
    await db.write((tx) => tx.delete(uploadRetries).where(lt(uploadRetries.expiresAt, now())))
  }
}

/** Rolls back a transaction that would store an upload twice. */
class StoredElsewhere extends Error {
  readonly answer: StoredFile[]

  constructor(answer: StoredFile[]) {
    super('the upload is already stored')
    this.answer = answer
  }
}

function keyReused(): AppError {
  return invalidField(
    'Idempotency-Key',
    'was used for another upload',
    'This Idempotency-Key was used for another upload. Use a new key for each upload.',
  )
}
