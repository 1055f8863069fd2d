import { and, asc, eq, inArray, isNotNull, lte, notInArray, type SQL, sql } from 'drizzle-orm'
import type { Reader, Tx } from '../../../../platform/db/db.ts'
import type { ExistingUsers } from '../../../../platform/user-table.ts'
import type { StoredEnvironment } from '../../../billing/environment.ts'
import type { StoresDb } from '../../schema.ts'
import type { Target } from '../events/notification.ts'

type StripeObjectsDeps = {
  db: StoresDb
  existingUsers: ExistingUsers
  now: () => Date
  newId: () => string
}

type Row = StoresDb['tables']['stripeObjects']['$inferSelect']

export type StripeObject = Omit<Row, 'environment' | 'task'> & {
  environment: StoredEnvironment
  task: Task
}

/** For a deleted user, the customer is deleted or its subscriptions are cancelled, and an open checkout is closed. */
export type Task = 'read' | 'delete' | 'cancel' | 'expire'

export type StripeObjects = ReturnType<typeof createStripeObjects>

/** The events about one purchase arrive together, and share a request. */
const SETTLE_MS = 2_000
const NOT_LEASED = new Date(0)

/** What to query or do at Stripe. */
export function createStripeObjects({ db, existingUsers, now, newId }: StripeObjectsDeps) {
  const { stripeObjects } = db.tables
  let wakeAt: (dueAt: Date) => void = () => {}
  return {
    onDue,
    enqueue,
    enqueueAllOf,
    findDue,
    load,
    find,
    finish,
    remove,
    countDue,
    countDeletions,
  }

  /** For the queue, which otherwise may look too late. */
  function onDue(listener: typeof wakeAt) {
    wakeAt = listener
  }

  async function enqueue(
    tx: Tx,
    environment: StoredEnvironment,
    { id, customer = null, userId = null }: Target,
    task: Task = 'read',
  ) {
    // An event may name a user who was deleted.
    const [owner] = userId === null ? [] : await existingUsers(tx, [userId])
    const again = {
      dueAt: new Date(now().getTime() + (task === 'read' ? SETTLE_MS : 0)),
      mark: newId(),
      attempts: 0,
      ...(customer === null ? {} : { customer }),
      ...(owner === undefined ? {} : { userId: owner }),
    }
    // A query never replaces a task for a deleted user.
    const due = { ...again, task }
    await tx
      .insert(stripeObjects)
      .values({ id, environment, items: [], isPaidBack: false, leasedUntil: NOT_LEASED, ...due })
      .onConflictDoUpdate({ target: stripeObjects.id, set: task === 'read' ? again : due })
    tx.afterCommit(() => wakeAt(due.dueAt))
  }

  /** Queues the known subscriptions of a customer. */
  async function enqueueAllOf(tx: Tx, customer: string) {
    await tx
      .update(stripeObjects)
      .set({ dueAt: now(), mark: newId(), attempts: 0 })
      .where(and(eq(stripeObjects.customer, customer), isNotNull(stripeObjects.askedAt)))
  }

  /** Due objects, except those of the environments in `except`. */
  function findDue(isDue: SQL, limit: number, except: string[]) {
    return db.read
      .select({ id: stripeObjects.id })
      .from(stripeObjects)
      .where(and(isDue, notInArray(stripeObjects.environment, except)))
      .orderBy(asc(stripeObjects.dueAt))
      .limit(limit)
  }

  async function load(from: Reader, which: SQL): Promise<StripeObject[]> {
    return (await from.select().from(stripeObjects).where(which)) as StripeObject[]
  }

  async function find(from: Reader, id: string): Promise<StripeObject | null> {
    return (await load(from, eq(stripeObjects.id, id)))[0] ?? null
  }

  /**
   * Ends the lease. An object that was queued again during the lease stays due. Returns false and stores nothing if
   * another process has leased it.
   */
  async function finish(tx: Tx, leased: StripeObject, changes: Partial<Row>): Promise<boolean> {
    const { mark, dueAt, attempts } = stripeObjects
    const isSame = eq(mark, leased.mark)
    const unlessMarked = <Column extends typeof dueAt | typeof attempts>(
      column: Column,
      value: unknown,
    ) => sql`case when ${isSame} then ${sql.param(value, column)} else ${column} end`
    const finished = await tx
      .update(stripeObjects)
      .set({
        leasedUntil: NOT_LEASED,
        ...changes,
        dueAt: unlessMarked(dueAt, changes.dueAt === undefined ? leased.dueAt : changes.dueAt),
        attempts: unlessMarked(attempts, changes.attempts ?? leased.attempts),
      } as never)
      .where(isLeased(leased))
      .returning({ id: stripeObjects.id })
    return finished.length > 0
  }

  /** Removes an object, unless it was queued again. */
  async function remove(tx: Tx, leased: StripeObject) {
    await tx.delete(stripeObjects).where(and(isLeased(leased), eq(stripeObjects.mark, leased.mark)))
  }

  function isLeased({ id, leasedUntil }: StripeObject) {
    return and(eq(stripeObjects.id, id), eq(stripeObjects.leasedUntil, leasedUntil))
  }

  function countDue(): Promise<number> {
    return db.read.$count(stripeObjects, lte(stripeObjects.dueAt, now()))
  }

  /** Customers of deleted users that Stripe still has. */
  function countDeletions(): Promise<number> {
    return db.read.$count(stripeObjects, inArray(stripeObjects.task, ['delete', 'cancel']))
  }
}
