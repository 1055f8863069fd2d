import { and, asc, eq, gt, lt } from 'drizzle-orm'
import type { Tx } from '../../../../platform/db/db.ts'
import type { Claims } from '../../purchases/claims.ts'
import type { StoresDb } from '../../schema.ts'
import { type KnownItem, toPurchaseKey } from '../snapshot.ts'

export type PendingClaim = { tokenHash: string; userId: string; takeOver: boolean; expiresAt: Date }

type PendingClaimsDeps = { db: StoresDb; claims: Claims; now: () => Date }

type ClaimResult = Awaited<ReturnType<Claims['claim']>>

export type PendingClaims = ReturnType<typeof createPendingClaims>

/** The claims of submitted purchases that Google could not confirm at once, or that are not paid yet. */
export function createPendingClaims({ db, claims, now }: PendingClaimsDeps) {
  const { playClaims } = db.tables
  return { keep, claimForWaiting, clearOld, eraseUser, mergeUsers }

  /** Never shortens an earlier claim of the user, and keeps its request to take the purchase over. */
  async function keep(tx: Tx, { takeOver, ...claim }: PendingClaim) {
    const { tokenHash, userId } = claim
    const isSame = and(eq(playClaims.tokenHash, tokenHash), eq(playClaims.userId, userId))
    const [earlier] = await tx.select().from(playClaims).where(isSame)
    const isWaiting = earlier !== undefined && earlier.expiresAt > now()
    const isLater = earlier === undefined || earlier.expiresAt < claim.expiresAt
    const expiresAt = isLater ? claim.expiresAt : earlier.expiresAt
    await tx
      .insert(playClaims)
      .values({ ...claim, takeOver })
      .onConflictDoUpdate({
        target: [playClaims.tokenHash, playClaims.userId],
        set: { takeOver: takeOver || (isWaiting && earlier.takeOver), expiresAt },
      })
  }

  /** Claims the paid products of a purchase for the waiting users, in order. Returns each user's result. */
  async function claimForWaiting(tx: Tx, tokenHash: string, items: KnownItem[]) {
    const results = new Map<string, ClaimResult>()
    if (items.length === 0) return results
    const ofPurchase = eq(playClaims.tokenHash, tokenHash)
    const waiting = await tx
      .select()
      .from(playClaims)
      .where(and(ofPurchase, gt(playClaims.expiresAt, now())))
      .orderBy(asc(playClaims.expiresAt))
    for (const { userId, takeOver } of waiting) {
      for (const item of items) {
        const purchaseKey = toPurchaseKey(item)
        const heldBy = await claims.findOwner(tx, purchaseKey)
        const result = await claims.claim(tx, { userId, purchaseKey, heldBy, takeOver })
        if (item === items[0]) results.set(userId, result)
      }
    }
    if (waiting.length > 0) await tx.delete(playClaims).where(ofPurchase)
    return results
  }

  async function clearOld() {
    await db.write((tx) => tx.delete(playClaims).where(lt(playClaims.expiresAt, now())))
  }

  async function eraseUser(tx: Tx, userId: string) {
    await tx.delete(playClaims).where(eq(playClaims.userId, userId))
  }

  async function mergeUsers(tx: Tx, from: string, to: string) {
    const moved = await tx.delete(playClaims).where(eq(playClaims.userId, from)).returning()
    for (const claim of moved) await keep(tx, { ...claim, userId: to })
  }
}
