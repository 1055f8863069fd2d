import { and, eq, gt, lt } from 'drizzle-orm'
import { sha256 } from '../../../lib/crypto/hash.ts'
import { AppError, invalidField, notFound } from '../../../lib/errors.ts'
import { parseTime } from '../../../lib/time/parse-time.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { PlanLike, Subscription } from '../access/subscription.ts'
import { type Attribution, checkAttribution } from '../inbox/attribution.ts'
import type { EventInbox } from '../inbox/event-inbox.ts'
import { readPurchase, type StoredPurchase } from '../projection/fold-state.ts'
import { assessPurchases } from '../purchases/access.ts'
import { ACCESS_GRANTED, ACCESS_REVOKED } from '../purchases/event-types.ts'
import type { BillingDb } from '../schema.ts'
import type { Grant } from './model.ts'

type GrantsDeps = {
  db: BillingDb
  eventInbox: Pick<EventInbox, 'recordOwnEvent'>
  subscription: Pick<Subscription<PlanLike>, 'findCustomer'>
  isUserWithin: (tx: Tx, id: string) => Promise<boolean>
  now: () => Date
  newId: () => string
}

/** Access to give. `until`: ISO 8601; null: without an end. `idempotencyKey`: a repeated request gives access once. */
type NewGrant = Attribution & {
  userId: string
  entitlementId: string
  until: string | null
  idempotencyKey?: string | undefined
}

export type Grants = ReturnType<typeof createGrants>

/** A grant is stored as a production purchase whose transaction id has this prefix. */
const ID_PREFIX = 'grant:'
const KEY_PREFIX = `PRODUCTION|${ID_PREFIX}`
const ENTITLEMENT_ID = /^[\w.:-]{1,100}$/
const MAX_LISTED = 100
/** More than a grant a day for ten years. */
const MAX_READ = 5_000

/** Grants and revokes access without a purchase. Both are events in the log, from which access is derived. */
export function createGrants({
  db,
  eventInbox,
  subscription,
  isUserWithin,
  now,
  newId,
}: GrantsDeps) {
  const { subscriptions } = db.tables
  return { create, revoke, list }

  /** Throws `not_found` for an unknown user, and 409 if another user has the purchases of the same customer. */
  async function create(grant: NewGrant): Promise<Grant> {
    const { userId, entitlementId, until, idempotencyKey } = grant
    const attribution = checkAttribution(grant)
    const id = idempotencyKey === undefined ? newId() : sha256(`${userId} ${idempotencyKey}`, 'hex')
    const earlier = idempotencyKey === undefined ? null : await find(userId, id)
    if (earlier) return requireSame(earlier, grant)
    if (!ENTITLEMENT_ID.test(entitlementId))
      throw invalidField('entitlementId', 'must be the id of an entitlement, such as pro')
    const at = now().getTime()
    const end = until === null ? null : parseTime(until)
    if (until !== null && end === null) throw invalidField('until', 'must be a time that exists')
    if (end !== null && end.getTime() <= at) throw invalidField('until', 'must be in the future')
    // The customer's latest event decides who has its purchases: this event would take them from the other user.
    const holder = (await subscription.findCustomer(userId))?.heldBy ?? null
    if (holder !== null) {
      throw new AppError('conflict', `The purchases of this customer belong to the user ${holder}.`)
    }
    await db.write(async (tx) => {
      if (!(await isUserWithin(tx, userId))) throw unknownUser(userId)
      await eventInbox.recordOwnEvent(tx, ACCESS_GRANTED, at, {
        id: `${ID_PREFIX}${id}`,
        ...toIdentity(id, userId),
        store: 'PROMOTIONAL',
        product_id: `grant_${entitlementId}`,
        entitlement_ids: [entitlementId],
        period_type: 'PROMOTIONAL',
        purchased_at_ms: at,
        expiration_at_ms: end?.getTime() ?? null,
        support: attribution,
      })
    })
    return requireSame(await findOrThrow(userId, id), grant)
  }

  /** Ends granted access now. Does nothing if it has ended. Throws `not_found` for an unknown grant of the user. */
  async function revoke(userId: string, id: string, by: Attribution): Promise<Grant> {
    const attribution = checkAttribution(by)
    const grant = await findOrThrow(userId, id)
    if (!grant.active) return grant
    const startsAt = Date.parse(grant.startsAt)
    // The latest event decides who has the customer's purchases, so this event names the same user.
    const holder = (await subscription.findCustomer(userId))?.heldBy ?? userId
    await db.write((tx) =>
      eventInbox.recordOwnEvent(tx, ACCESS_REVOKED, Math.max(now().getTime(), startsAt), {
        id: `revoke:${id}`,
        ...toIdentity(id, holder),
        purchased_at_ms: startsAt,
        support: attribution,
      }),
    )
    return findOrThrow(userId, id)
  }

  /** The latest grants of a user's customer, including those that have ended. */
  async function list(userId: string): Promise<Grant[]> {
    const customer = await subscription.findCustomer(userId)
    if (customer === null) return []
    const rows = await db.read
      .select({ purchaseKey: subscriptions.purchaseKey, state: subscriptions.state })
      .from(subscriptions)
      .where(
        and(
          eq(subscriptions.customerId, customer.customerId),
          gt(subscriptions.purchaseKey, KEY_PREFIX),
          lt(subscriptions.purchaseKey, `${KEY_PREFIX}~`),
        ),
      )
      .limit(MAX_READ)
    return rows
      .flatMap(({ purchaseKey, state }) => toGrants(purchaseKey, state))
      .toSorted((a, b) => (a.startsAt < b.startsAt ? 1 : -1))
      .slice(0, MAX_LISTED)
  }

  function toGrants(purchaseKey: string, state: StoredPurchase): Grant[] {
    const [purchase] = assessPurchases([readPurchase(state)], now().getTime())
    if (!purchase?.grant) return []
    const { entitlementIds, active, startedAt, effectiveEnd, grant } = purchase
    return [
      {
        id: purchaseKey.slice(KEY_PREFIX.length),
        entitlementId: entitlementIds.join(', '),
        active,
        startsAt: new Date(startedAt).toISOString(),
        endsAt: effectiveEnd === null ? null : new Date(effectiveEnd).toISOString(),
        grantedBy: grant.by,
        reason: grant.reason,
        revokedBy: grant.revokedBy ?? null,
      },
    ]
  }

  async function findOrThrow(userId: string, id: string): Promise<Grant> {
    const found = await find(userId, id)
    if (found === null) throw notFound()
    return found
  }

  async function find(userId: string, id: string): Promise<Grant | null> {
    const customer = await subscription.findCustomer(userId)
    const [row] = await db.read
      .select()
      .from(subscriptions)
      .where(eq(subscriptions.purchaseKey, `${KEY_PREFIX}${id}`))
    const isOwn = row !== undefined && row.customerId === customer?.customerId
    const [found] = isOwn ? toGrants(row.purchaseKey, row.state) : []
    return found ?? null
  }
}

/** Throws if the idempotency key was used for other access. A revoked grant ends when it was revoked. */
function requireSame(given: Grant, { entitlementId, until }: NewGrant): Grant {
  const end = until === null ? null : (parseTime(until)?.toISOString() ?? '')
  const isSame =
    given.entitlementId === entitlementId && (given.revokedBy !== null || given.endsAt === end)
  if (!isSame) throw invalidField('idempotencyKey', 'was used for another entitlement or end')
  return given
}

function toIdentity(id: string, userId: string) {
  return {
    app_user_id: userId,
    environment: 'PRODUCTION',
    original_transaction_id: `${ID_PREFIX}${id}`,
  }
}

function unknownUser(userId: string): AppError {
  return new AppError('not_found', `There is no user ${userId}.`)
}
