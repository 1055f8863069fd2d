import { asc, gt } from 'drizzle-orm'
import { yieldToEventLoop } from '../../lib/concurrency/yield-to-event-loop.ts'
import type { Log } from '../../lib/log/log.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import type { AttachmentsDb } from './schema.ts'

type FileUsageDeps = { db: AttachmentsDb; now: () => Date; log: Log }

export type FileUsage = ReturnType<typeof createFileUsage>

type Total = { files: number; bytes: number }

/** Rows read per turn of the event loop. */
const ROWS_PER_TURN = 2_000
const MAX_LARGEST_SHOWN = 20
/** Counting millions of rows takes a while, so a count is reused for this long. */
const MAX_AGE_MS = 10 * MINUTE_MS
const MAX_WAIT_MS = 500

/** Totals files by type and user, a few rows at a time. */
export function createFileUsage({ db, now, log }: FileUsageDeps) {
  const { attachments } = db.tables
  let last: Awaited<ReturnType<typeof count>> | null = null
  let counting: Promise<void> | null = null
  return { read, count }

  /** The last count, or null during the first one. Starts a new count if the last one is old. */
  async function read() {
    if (last === null || Math.abs(now().getTime() - Date.parse(last.countedAt)) > MAX_AGE_MS) {
      counting ??= refresh()
      // Give a short count time to finish.
      await Promise.race([counting, Bun.sleep(MAX_WAIT_MS)])
    }
    return last
  }

  async function refresh() {
    try {
      last = await count()
    } catch (err) {
      log.warn({ err }, 'files could not be counted')
    } finally {
      counting = null
    }
  }

  async function count() {
    const byType = new Map<string, Total>()
    const byUser = new Map<string, Total>()
    for (let after = ''; ; ) {
      const rows = await db.read
        .select({
          key: attachments.key,
          type: attachments.type,
          userId: attachments.userId,
          size: attachments.size,
        })
        .from(attachments)
        .where(gt(attachments.key, after))
        .orderBy(asc(attachments.key))
        .limit(ROWS_PER_TURN)
      for (const { type, userId, size } of rows) {
        add(byType, type, size)
        add(byUser, userId, size)
      }
      const end = rows.at(-1)
      if (!end) break
      after = end.key
      await yieldToEventLoop()
    }
    const largest = [...byUser].toSorted(([, a], [, b]) => b.bytes - a.bytes)
    return {
      countedAt: now().toISOString(),
      types: [...byType].map(([type, sum]) => ({ type, ...sum })),
      largest: largest.slice(0, MAX_LARGEST_SHOWN).map(([userId, sum]) => ({ userId, ...sum })),
    }
  }
}

function add(sums: Map<string, Total>, name: string, size: number) {
  const { files, bytes } = sums.get(name) ?? { files: 0, bytes: 0 }
  sums.set(name, { files: files + 1, bytes: bytes + size })
}
