import { and, asc, eq, isNotNull, lte, notInArray, type SQL } from 'drizzle-orm'
import { sha256 } from '../../../../lib/crypto/hash.ts'
import { seal, unseal } from '../../../../lib/crypto/seal.ts'
import { tryTo } from '../../../../lib/errors.ts'
import type { Reader, Tx } from '../../../../platform/db/db.ts'
import { findPage } from '../../../../platform/lists/find-page.ts'
import { createSources } from '../../../../platform/lists/sources.ts'
import type { StoresDb } from '../../schema.ts'
import type { PurchaseKind } from '../api/answer.ts'
import type { PlayPurchase } from '../api/play-store.ts'
import type { KnownItem } from '../snapshot.ts'

type PlayPurchasesDeps = {
  db: StoresDb
  sealKey: Uint8Array
  now: () => Date
  newId: () => string
}

type Row = StoresDb['tables']['playPurchases']['$inferSelect']

/** `id` is the hash of the token. */
export type KnownPurchase = Omit<Row, 'items' | 'kind' | 'sealedToken'> &
  PlayPurchase & { id: string; items: KnownItem[] }

type Filter = 'unacknowledged' | 'gone'

export type PlayPurchases = ReturnType<typeof createPlayPurchases>

/** The lowest number comes first: purchases that Google may refund, or that a user is waiting for. */
export const URGENCY = { waiting: 0, changed: 1, routine: 2 }

const NOT_LEASED = new Date(0)

export function createPlayPurchases({ db, sealKey, now, newId }: PlayPurchasesDeps) {
  const { playPurchases } = db.tables
  return {
    enqueue,
    remove,
    findDue,
    load,
    finish,
    find,
    findByLine,
    isReplaced,
    oldestUnacknowledged,
    page,
    countDue,
  }

  async function enqueue(tx: Tx, purchase: PlayPurchase, urgency: number) {
    const { purchaseToken, packageName, kind, productId } = purchase
    const due = {
      sealedToken: seal(sealKey, purchaseToken),
      urgency,
      dueAt: now(),
      mark: newId(),
      attempts: 0,
      misses: 0,
      goneAt: null,
    }
    await tx
      .insert(playPurchases)
      .values({
        tokenHash: hashToken(purchaseToken),
        packageName,
        kind,
        productId,
        items: [],
        leasedUntil: NOT_LEASED,
        ...due,
      })
      .onConflictDoUpdate({
        target: playPurchases.tokenHash,
        set: { ...due, packageName, kind, ...(productId === null ? {} : { productId }) },
      })
  }

  /** Removes a purchase, unless it was queued again in the meantime. */
  async function remove(tx: Tx, { tokenHash, mark: knownMark }: Pick<Row, 'tokenHash' | 'mark'>) {
    const isSame = eq(playPurchases.tokenHash, tokenHash)
    await tx.delete(playPurchases).where(and(isSame, eq(playPurchases.mark, knownMark)))
  }

  /** The most urgent due purchases, except those of the apps in `except`. */
  async function findDue(isDue: SQL, limit: number, except: string[]) {
    const found: { id: string }[] = []
    for (const urgency of Object.values(URGENCY)) {
      const isUrgent = eq(playPurchases.urgency, urgency)
      const rows = await db.read
        .select({ id: playPurchases.tokenHash })
        .from(playPurchases)
        .where(and(isUrgent, isDue, notInArray(playPurchases.packageName, except)))
        .orderBy(asc(playPurchases.dueAt))
        .limit(limit - found.length)
      found.push(...rows)
      if (found.length === limit) break
    }
    return found
  }

  async function load(from: Reader, which: SQL) {
    return (await from.select().from(playPurchases).where(which)).map(toKnownPurchase)
  }

  /**
   * Ends the lease, unless `changes` extends it. The purchase stays due if it was queued again. Returns false and stores
   * nothing if this process was frozen for longer than its lease: another process may have queried the purchase.
   */
  async function finish(tx: Tx, leased: KnownPurchase, changes: Partial<Row>): Promise<boolean> {
    const { tokenHash, leasedUntil, mark } = playPurchases
    const isLeased = and(eq(tokenHash, leased.tokenHash), eq(leasedUntil, leased.leasedUntil))
    const finished = await tx
      .update(playPurchases)
      .set({ leasedUntil: NOT_LEASED, ...changes })
      .where(and(isLeased, eq(mark, leased.mark)))
      .returning({ tokenHash })
    if (finished.length > 0) return true
    const {
      dueAt: _due,
      urgency: _urgency,
      attempts: _attempts,
      misses: _misses,
      sealedToken: _token,
      goneAt: _gone,
      ...known
    } = changes
    const updated = await tx
      .update(playPurchases)
      .set({ leasedUntil: NOT_LEASED, ...known })
      .where(isLeased)
      .returning({ tokenHash })
    return updated.length > 0
  }

  async function find(from: Reader, tokenHash: string): Promise<KnownPurchase | null> {
    return (await load(from, eq(playPurchases.tokenHash, tokenHash)))[0] ?? null
  }

  /** `line`: such as `GPA.1234-5678-9012-34567`. */
  async function findByLine(line: string): Promise<KnownPurchase | null> {
    const [main = ''] = line.split('#')
    const rows = await db.read.select().from(playPurchases).where(eq(playPurchases.line, main))
    const replaced = new Set(rows.map(({ linkedHash }) => linkedHash))
    const current = rows.find(({ tokenHash }) => !replaced.has(tokenHash)) ?? rows[0]
    return current ? toKnownPurchase(current) : null
  }

  /** Whether another purchase with the same line has replaced this one. */
  async function isReplaced(from: Reader, tokenHash: string, line: string): Promise<boolean> {
    const ofLine = eq(playPurchases.line, line.split('#')[0] ?? '')
    const rows = await from.select().from(playPurchases).where(ofLine)
    return rows.some(({ linkedHash }) => linkedHash === tokenHash)
  }

  /** Null if there is none. */
  async function oldestUnacknowledged(): Promise<Date | null> {
    const { rows } = await list('unacknowledged', { limit: 1 })
    return rows[0]?.unacknowledgedSince ?? null
  }

  /** The lines of the purchases that match a filter, page by page. */
  async function page(filter: Filter, options: { limit: number; after?: string | undefined }) {
    const { rows, next } = await list(filter, options)
    return { lines: rows.flatMap(({ items }) => items.map(({ line }) => line)), next }
  }

  /** Paid purchases that are not acknowledged, the oldest first, or those that Google no longer knows, the latest first. */
  function list(filter: Filter, { limit, after }: { limit: number; after?: string | undefined }) {
    const { goneAt, unacknowledgedSince: since, tokenHash } = playPurchases
    const isGone = filter === 'gone'
    const sources = createSources(
      { read: db.read, table: playPurchases, key: tokenHash, isDescending: isGone },
      [
        isGone
          ? { where: isNotNull(goneAt), isIndexed: true, sortedBy: goneAt }
          : { where: lte(since, now()), isIndexed: true, sortedBy: since },
      ],
    )
    return findPage({ sources, after, limit })
  }

  async function countDue(): Promise<number> {
    const counts = Object.values(URGENCY).map((urgency) =>
      db.read.$count(
        playPurchases,
        and(eq(playPurchases.urgency, urgency), lte(playPurchases.dueAt, now())),
      ),
    )
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  }

  /** Empty if the seal key is lost: the next notification or submission brings the token again. */
  function openToken(sealedToken: string): string {
    return sealedToken === '' ? '' : (tryTo(() => unseal(sealKey, sealedToken)) ?? '')
  }

  function toKnownPurchase({ kind, sealedToken, ...row }: Row): KnownPurchase {
    const purchaseToken = openToken(sealedToken)
    return { ...row, id: row.tokenHash, kind: kind as PurchaseKind | null, purchaseToken }
  }
}

export function hashToken(purchaseToken: string): string {
  return sha256(purchaseToken, 'hex')
}
