import { and, eq, inArray } from 'drizzle-orm'
import { hmac, sha256 } from '../../../../lib/crypto/hash.ts'
import type { Reader, Tx } from '../../../../platform/db/db.ts'
import type { StoredEnvironment } from '../../../billing/environment.ts'
import { text } from '../../json.ts'
import { ignoreUnknown, StripeApiError } from '../api/api-error.ts'
import type { StripeContext } from '../context.ts'
import { toPurchaseKey } from '../events/snapshot.ts'
import type { StripeOwner } from '../events/state.ts'

export type Customers = ReturnType<typeof createCustomers>

/** Each user has one customer per environment. */
export function createCustomers(deps: StripeContext) {
  const { db, api, objects, existingUsers, findEmail, serverId } = deps
  const { stripeCustomers, stripeObjects } = db.tables
  return { findOrCreate, updateAddress, findKeys, list, findUser, remember, forget, forgetCurrent }

  /** The user's current customer, with the current address. Throws `StripeApiError`. */
  async function findOrCreate(userId: string, environment: StoredEnvironment): Promise<string> {
    const known = await list(db.read, userId, environment)
    const id = known.find(({ isCurrent }) => isCurrent)?.id ?? (await create(known.length))
    // Creating the session fails in the same way, and then the checkout forgets the customer.
    await updateAddress(id).catch(ignoreUnknown)
    return id

    /** A repetition after a crash gets the same customer; after a deletion, a new one. */
    async function create(attempt: number): Promise<string> {
      const key = ['customer', environment, userId, attempt].join(' ')
      const reply = await api.call(environment, 'customers', {
        method: 'POST',
        params: { metadata: toMetadata(userId) },
        idempotencyKey: hmac(Buffer.from(serverId), key),
      })
      const created = text(reply['id'])
      if (created === null) throw new StripeApiError('unreadable')
      await db.write(async (tx) => {
        await remember(tx, environment, { customer: created, userId, server: serverId })
        // The user was deleted during the call.
        if ((await findUser(tx, created)) === null)
          await objects.enqueue(tx, environment, { id: created }, 'delete')
      })
      return created
    }
  }

  /** Sends the user's address if the user has verified another one since. Throws `StripeApiError`. */
  async function updateAddress(customer: string) {
    const isThis = eq(stripeCustomers.id, customer)
    const [known] = await db.read.select().from(stripeCustomers).where(isThis)
    const email = known ? await findEmail(known.userId) : null
    if (!known || email === null) return
    const emailHash = sha256(email)
    if (emailHash === known.emailHash) return
    const environment = known.environment as StoredEnvironment
    await api.call(environment, `customers/${customer}`, { method: 'POST', params: { email } })
    await db.write((tx) => tx.update(stripeCustomers).set({ emailHash }).where(isThis))
  }

  function toMetadata(userId: string) {
    return { homeport_user: userId, homeport_server: serverId }
  }

  function list(from: Reader, userId: string, environment: StoredEnvironment) {
    return from
      .select()
      .from(stripeCustomers)
      .where(and(eq(stripeCustomers.userId, userId), eq(stripeCustomers.environment, environment)))
  }

  /** The keys of the purchases of the user's customers in production. */
  async function findKeys(userId: string): Promise<string[]> {
    const ids = (await list(db.read, userId, 'PRODUCTION')).map(({ id }) => id)
    const found = await objects.load(db.read, inArray(stripeObjects.customer, ids))
    return found.flatMap(({ items }) => items.map((item) => toPurchaseKey('PRODUCTION', item)))
  }

  /** Null if the customer belongs to no user of this server. */
  async function findUser(from: Reader, customer: string): Promise<string | null> {
    const isThis = eq(stripeCustomers.id, customer)
    const [row] = await from.select().from(stripeCustomers).where(isThis)
    return row?.userId ?? null
  }

  /** Stores the user of a customer, if it is a user of this server: a restored backup may lack the customer. */
  async function remember(tx: Tx, environment: StoredEnvironment, owner: StripeOwner) {
    const { customer: id, userId, server } = owner
    if (userId === null || server !== serverId) return
    const [user] = await existingUsers(tx, [userId])
    if (user === undefined) return
    const known = await list(tx, userId, environment)
    const isCurrent = !known.some((one) => one.isCurrent)
    await tx
      .insert(stripeCustomers)
      .values({ id, environment, userId, isCurrent, emailHash: null })
      .onConflictDoNothing()
  }

  /** For a customer that was deleted at Stripe. */
  async function forgetCurrent(userId: string, environment: StoredEnvironment) {
    await db.write(async (tx) => {
      for (const { id } of await list(tx, userId, environment)) await forget(tx, id)
    })
  }

  /** The next checkout creates a new customer. */
  async function forget(tx: Tx, customer: string) {
    const isThis = eq(stripeCustomers.id, customer)
    await tx.update(stripeCustomers).set({ isCurrent: false }).where(isThis)
  }
}
