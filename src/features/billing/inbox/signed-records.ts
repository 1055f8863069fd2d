import { eq, inArray, lt } from 'drizzle-orm'
import { chunk } from '../../../lib/concurrency/chunk.ts'
import { DAY_MS } from '../../../lib/time/durations.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { keyRanges } from '../../../platform/db/key-ranges.ts'
import { prepareInsert } from '../../../platform/db/prepared.ts'
import type { BillingDb } from '../schema.ts'

type SignedRecordsDeps = {
  db: BillingDb
  /** How long records are kept; 0: not at all. */
  days: number
  now: () => Date
}

export type SignedRecords = ReturnType<typeof createSignedRecords>

const ROWS_PER_DELETE = 500

/** Keeps signed records as received: the log has only the decoded document. */
export function createSignedRecords({ db, days, now }: SignedRecordsDeps) {
  const { signedRecords } = db.tables
  const insert = prepareInsert(db, signedRecords)
  return { keep, read, erase, clearOld }

  async function keep(tx: Tx, eventRow: string, signed: string) {
    if (days === 0) return
    const content = Bun.zstdCompressSync(signed)
    await insert(tx, { eventRow, receivedAt: now(), content })
  }

  /** Null if it was not kept. */
  async function read(eventRow: string): Promise<string | null> {
    const [row] = await db.read
      .select()
      .from(signedRecords)
      .where(eq(signedRecords.eventRow, eventRow))
    return row ? Bun.zstdDecompressSync(row.content).toString() : null
  }

  async function erase(tx: Tx, eventRows: string[]) {
    for (const batch of chunk(eventRows, ROWS_PER_DELETE)) {
      await tx.delete(signedRecords).where(inArray(signedRecords.eventRow, batch))
    }
  }

  async function clearOld(signal: AbortSignal) {
    const among = lt(signedRecords.receivedAt, new Date(now().getTime() - days * DAY_MS))
    for await (const range of keyRanges(db.read, signedRecords, signedRecords.eventRow, {
      among,
    })) {
      if (signal.aborted) return
      await db.write((tx) => tx.delete(signedRecords).where(range))
    }
  }
}
