import { eq } from 'drizzle-orm'
import type { Tx } from '../../../../platform/db/db.ts'
import { nothing } from '../../../../platform/user-table.ts'
import type { StoredEnvironment } from '../../../billing/environment.ts'
import type { StoresDb } from '../../schema.ts'
import type { StripeObjects, Task } from '../refresh/objects.ts'

type StripeUserDataDeps = {
  db: StoresDb
  objects: StripeObjects
  /** Whether a deleted user's customer is deleted at Stripe, or only its subscriptions end. */
  onDeletion: 'delete' | 'cancel'
}

/** Needed even while Stripe is not set up: the tables may have rows from before. */
export function createStripeUserData({ db, objects, onDeletion }: StripeUserDataDeps) {
  const { stripeCustomers, stripeCheckouts, stripeObjects } = db.tables
  const byCustomers = nothing('the functions of stripeCustomers also erase and merge these rows')
  const ids = nothing('they are ids at Stripe; the purchases are exported')
  return {
    stripeCustomers: { deletion: eraseUser, export: ids, merging: mergeUsers },
    stripeCheckouts: { deletion: byCustomers, export: ids, merging: byCustomers },
    stripeObjects: { deletion: byCustomers, export: ids, merging: byCustomers },
  }

  /** Queues the work to be done at Stripe. */
  async function eraseUser(tx: Tx, userId: string) {
    const customers = await tx
      .delete(stripeCustomers)
      .where(eq(stripeCustomers.userId, userId))
      .returning()
    const checkouts = await tx
      .delete(stripeCheckouts)
      .where(eq(stripeCheckouts.userId, userId))
      .returning()
    for (const { id, environment } of customers) await queue(environment, id, onDeletion)
    for (const { sessionId, environment } of checkouts)
      if (sessionId !== null) await queue(environment, sessionId, 'expire')
    await tx.update(stripeObjects).set({ userId: null }).where(eq(stripeObjects.userId, userId))

    function queue(environment: string, id: string, task: Task) {
      return objects.enqueue(tx, environment as StoredEnvironment, { id }, task)
    }
  }

  /** The account's own customer stays the current one. */
  async function mergeUsers(tx: Tx, guestId: string, userId: string) {
    const own = await tx.select().from(stripeCustomers).where(eq(stripeCustomers.userId, userId))
    const moved = await tx.select().from(stripeCustomers).where(eq(stripeCustomers.userId, guestId))
    for (const { id, environment, isCurrent } of moved) {
      const isReplaced = own.some((one) => one.environment === environment && one.isCurrent)
      await tx
        .update(stripeCustomers)
        .set({ userId, isCurrent: isCurrent && !isReplaced })
        .where(eq(stripeCustomers.id, id))
    }
    await tx.delete(stripeCheckouts).where(eq(stripeCheckouts.userId, guestId))
    await tx.update(stripeObjects).set({ userId }).where(eq(stripeObjects.userId, guestId))
  }
}
