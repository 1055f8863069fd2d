import { and, asc, eq, gt, lt, ne } from 'drizzle-orm'
import { DAY_MS } from '../../../lib/time/durations.ts'
import { keyRanges } from '../../../platform/db/key-ranges.ts'
import { type BillingDb, INDEX_CONDITIONS } from '../schema.ts'

const RETENTION_MS = 30 * DAY_MS
const EMPTY_BODY = Buffer.from('{}')

/** Clears paywall telemetry, which is frequent and has no effect on access. */
export function createTelemetryCleanup({ db, now }: { db: BillingDb; now: () => Date }) {
  const { billingEvents } = db.tables
  return clearOldTelemetry

  async function clearOldTelemetry(signal: AbortSignal) {
    const before = new Date(now().getTime() - RETENTION_MS)
    for (let type = 'PAYWALL_'; ; ) {
      const next = await nextType(type)
      if (next === null) return
      type = next
      const among = and(INDEX_CONDITIONS.rare(billingEvents), eq(billingEvents.type, type))
      for await (const range of keyRanges(db.read, billingEvents, billingEvents.id, { among })) {
        if (signal.aborted) return
        const old = and(
          range,
          lt(billingEvents.receivedAt, before),
          ne(billingEvents.body, EMPTY_BODY),
        )
        await db.write((tx) => tx.update(billingEvents).set({ body: EMPTY_BODY }).where(old))
      }
    }
  }

  /** The next type of telemetry in alphabetical order: one index seek, however many events there are. */
  async function nextType(after: string): Promise<string | null> {
    const { type } = billingEvents
    // In ASCII, the backtick follows the underscore, so all `PAYWALL_` types sort before it.
    const isTelemetry = and(
      INDEX_CONDITIONS.rare(billingEvents),
      gt(type, after),
      lt(type, 'PAYWALL`'),
    )
    const [next] = await db.read
      .select({ type })
      .from(billingEvents)
      .where(isTelemetry)
      .orderBy(asc(type))
      .limit(1)
    return next?.type ?? null
  }
}
