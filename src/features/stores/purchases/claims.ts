import { and, desc, eq, inArray, isNotNull, lt, sql } from 'drizzle-orm'
import type { StoreSettings } from '../../../config/subjects/stores.ts'
import { DAY_MS } from '../../../lib/time/durations.ts'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import { prepareFind, prepareSelect } from '../../../platform/db/prepared.ts'
import { type Attribution, readAttribution } from '../../billing/inbox/attribution.ts'
import type { EventInbox } from '../../billing/inbox/event-inbox.ts'
import { utf8 } from '../../billing/inbox/event-log.ts'
import { readPurchase } from '../../billing/projection/fold-state.ts'
import { CLAIM_WITHDRAWN, PURCHASE_CLAIMED } from '../../billing/purchases/event-types.ts'
import { parsePurchaseKey } from '../../billing/purchases/purchase-key.ts'
import type { StoreChecks } from '../checks/schedule.ts'
import type { StoresDb } from '../schema.ts'

type ClaimsDeps = {
  db: StoresDb
  eventInbox: Pick<EventInbox, 'recordOwnEvent'>
  checks: Pick<StoreChecks, 'scheduleClaimCheck'>
  findCustomerUser: (from: Reader, customerId: string) => Promise<string | null>
  /** Sends an e-mail. */
  notifyFormerOwner: (tx: Tx, userId: string, productId: string) => Promise<void>
  isGuest: (from: Reader, userId: string) => Promise<boolean>
  transfer: StoreSettings['purchaseTransfer']
  now: () => Date
}

/** `canTakeOverAt`: from when the user can take it over, ISO 8601; null: never. */
type ClaimResult =
  | { outcome: 'bound' | 'known' }
  | { outcome: 'refused'; code: 'purchase_of_another'; canTakeOverAt: string | null }

type ClaimInput = {
  userId: string
  purchaseKey: string
  /** The user who has it now; null for none. */
  heldBy: string | null
  /** Whether to take the purchase from another user. */
  takeOver: boolean
}

export type Claims = ReturnType<typeof createClaims>
type Claim = {
  eventId: string
  userId: string | null
  orderedAt: number
  isMove: boolean
  /** The operator's link of the purchase to the user; null if the user submitted it. */
  support: Attribution | null
}

type Owner = Omit<Claim, 'eventId'>

/** A stolen receipt is usually used soon after the purchase. */
const MIN_AGE_MS = DAY_MS
const MIN_TIME_BETWEEN_MOVES_MS = 30 * DAY_MS
/** Limits how often guests can pass a purchase on. */
const MAX_MOVES_FROM_GUESTS_PER_DAY = 5

export function createClaims(deps: ClaimsDeps) {
  const { db, eventInbox, checks, findCustomerUser, notifyFormerOwner, isGuest, transfer, now } =
    deps
  const { billingAliases, billingEvents, subscriptions } = db.tables
  const selectPurchase = prepareFind(db, subscriptions)
  const isOfPurchase = eq(billingEvents.purchaseKey, sql.placeholder('purchaseKey'))
  const findClaims = prepareSelect(db, (from) =>
    from
      .select()
      .from(billingEvents)
      .where(and(isOfPurchase, inArray(billingEvents.type, [PURCHASE_CLAIMED, CLAIM_WITHDRAWN])))
      .orderBy(desc(billingEvents.orderedAt)),
  )
  const findLatest = prepareSelect(db, (from) =>
    from
      .select({ orderedAt: billingEvents.orderedAt })
      .from(billingEvents)
      .where(isOfPurchase)
      .orderBy(desc(billingEvents.orderedAt))
      .limit(1),
  )
  return { claim, linkBySupport, withdraw, findOwner, findClaimant, findLink, findPurchase }

  /** In the caller's transaction. */
  async function claim(tx: Tx, input: ClaimInput): Promise<ClaimResult> {
    const { userId, purchaseKey, heldBy, takeOver } = input
    const owner = await findOwner(tx, purchaseKey)
    if (owner !== null && owner !== userId) {
      const from = await findEarliestMove(tx, purchaseKey, owner, userId)
      const isRequested = takeOver || transfer === 'always'
      const isAllowed = isRequested && from !== null && from <= now().getTime()
      if (!isAllowed) {
        const canTakeOverAt =
          from === null ? null : new Date(Math.max(from, now().getTime())).toISOString()
        return { outcome: 'refused', code: 'purchase_of_another', canTakeOverAt }
      }
    }
    await assign(tx, userId, purchaseKey, owner)
    return { outcome: heldBy === userId ? 'known' : 'bound' }
  }

  /** Assigns a purchase to the user, whatever the transfer policy. */
  async function linkBySupport(
    tx: Tx,
    userId: string,
    purchaseKey: string,
    attribution: Attribution,
  ) {
    await assign(tx, userId, purchaseKey, await findOwner(tx, purchaseKey), attribution)
  }

  /** Records a claim, and notifies a former owner. Does nothing if the user's claim is the latest one. */
  async function assign(
    tx: Tx,
    userId: string,
    purchaseKey: string,
    owner: string | null,
    attribution: Attribution | null = null,
  ) {
    const [latest] = await listClaims(tx, purchaseKey)
    if (owner === userId && latest?.userId === userId) return
    const isMove = owner !== null && owner !== userId
    const purchase = await findPurchase(tx, purchaseKey)
    const { transactionId } = parsePurchaseKey(purchaseKey)
    const events = await listClaimEvents(tx, purchaseKey)
    const { length } = events.filter(({ type }) => type === PURCHASE_CLAIMED)
    await record(tx, PURCHASE_CLAIMED, purchaseKey, {
      id: `claim:${purchaseKey}:${length}`,
      app_user_id: userId,
      is_move: isMove,
      ...(attribution ? { support: attribution } : {}),
    })
    if (isMove) await notifyFormerOwner(tx, owner, purchase?.productId ?? transactionId)
    if (purchase?.store === 'APP_STORE') await checks.scheduleClaimCheck(tx, purchaseKey, now())
  }

  /** Undoes the latest claim if it is a link by support, and is the event `link` if given. Returns whether it did. */
  async function withdraw(
    tx: Tx,
    purchaseKey: string,
    attribution: Attribution,
    link?: string,
  ): Promise<boolean> {
    const [latest] = await listClaims(tx, purchaseKey)
    if (!latest?.support || (link !== undefined && link !== latest.eventId)) return false
    await record(tx, CLAIM_WITHDRAWN, purchaseKey, {
      withdrawn_claim: latest.eventId,
      support: attribution,
    })
    const purchase = await findPurchase(tx, purchaseKey)
    if (purchase?.store === 'APP_STORE') await checks.scheduleClaimCheck(tx, purchaseKey, now())
    return true
  }

  /** Records an event that follows all others of the purchase. */
  async function record(tx: Tx, type: string, purchaseKey: string, fields: object) {
    const { environment, transactionId } = parsePurchaseKey(purchaseKey)
    const at = Math.max(now().getTime(), (await latestEventAt(tx, purchaseKey)) + 1)
    const about = { environment, original_transaction_id: transactionId }
    await eventInbox.recordOwnEvent(tx, type, at, { ...about, ...fields })
  }

  /** From when the user may take the purchase over, in ms; null: never. */
  async function findEarliestMove(
    tx: Tx,
    purchaseKey: string,
    owner: string,
    userId: string,
  ): Promise<number | null> {
    if (transfer === 'never') return null
    const claims = await listClaims(tx, purchaseKey)
    const moves = claims.filter(({ isMove }) => isMove)
    const isGuestOwned = await isGuest(tx, owner)
    const oldestCounted = moves[MAX_MOVES_FROM_GUESTS_PER_DAY - 1]
    const fromGuest = oldestCounted === undefined ? 0 : oldestCounted.orderedAt + DAY_MS
    if (transfer === 'always') return isGuestOwned ? fromGuest : 0
    const nextMove = moves[0] === undefined ? 0 : moves[0].orderedAt + MIN_TIME_BETWEEN_MOVES_MS
    const since = now().getTime() - MIN_TIME_BETWEEN_MOVES_MS
    const { owners, claimant } = await findOwners(tx, purchaseKey, claims, userId)
    if (mayTakeBack(owners, claimant, since)) return 0
    if (isTakenBack(owners)) return nextMove
    // A guest who has lost the device cannot sign in again.
    if (isGuestOwned) return fromGuest
    const startedAt = (await findPurchase(tx, purchaseKey))?.startedAt ?? 0
    return Math.max(startedAt + MIN_AGE_MS, nextMove)
  }

  /**
   * Returns customers instead of users, because a guest may have signed in to an account since. Latest first; the last
   * owner may be a guest who has not submitted the purchase.
   */
  async function findOwners(tx: Tx, purchaseKey: string, claims: Claim[], userId: string) {
    const first = claims.at(-1)
    const suggested = first?.isMove ? await findGuestBefore(tx, purchaseKey, first.orderedAt) : null
    const owners: Owner[] = suggested === null ? claims : [...claims, suggested]
    const ids = [userId, ...owners.flatMap((owner) => owner.userId ?? [])]
    const isNamed = inArray(billingAliases.appUserId, ids)
    const rows = await tx.select().from(billingAliases).where(isNamed)
    const customers = new Map(rows.map(({ appUserId, customerId }) => [appUserId, customerId]))
    const toCustomer = (id: string) => customers.get(id) ?? id
    const mergedOwners = owners.map((one) => ({
      ...one,
      userId: one.userId && toCustomer(one.userId),
    }))
    return { owners: mergedOwners, claimant: toCustomer(userId) }
  }

  /** The guest whom the store had named as the owner before a time; null for none. */
  async function findGuestBefore(tx: Tx, purchaseKey: string, at: number): Promise<Owner | null> {
    const { appUserId, orderedAt } = billingEvents
    const isEarlier = and(eq(billingEvents.purchaseKey, purchaseKey), lt(orderedAt, at))
    const [row] = await tx
      .select({ userId: appUserId, orderedAt })
      .from(billingEvents)
      .where(and(isEarlier, isNotNull(appUserId)))
      .orderBy(desc(orderedAt))
      .limit(1)
    const holder = row?.userId ? await findCustomerUser(tx, row.userId) : null
    const isGuestOwned = holder !== null && (await isGuest(tx, holder))
    return row && isGuestOwned ? { ...row, isMove: false, support: null } : null
  }

  /** Null for none. */
  async function findOwner(from: Reader, purchaseKey: string): Promise<string | null> {
    const row = await selectPurchase(from, { purchaseKey })
    return row ? findCustomerUser(from, row.customerId) : null
  }

  /** The app user id of the latest claim; null for none. */
  async function findClaimant(purchaseKey: string, from: Reader = db.read): Promise<string | null> {
    return (await listClaims(from, purchaseKey))[0]?.userId ?? null
  }

  /** Null for an unknown purchase. */
  async function findPurchase(from: Reader, purchaseKey: string) {
    const row = await selectPurchase(from, { purchaseKey })
    return row ? readPurchase(row.state) : null
  }

  /** A link made by support; null if the user has since submitted the purchase. `id`: of the event. */
  async function findLink(purchaseKey: string) {
    const [latest] = await listClaims(db.read, purchaseKey)
    if (!latest?.support) return null
    return { id: latest.eventId, ...latest.support, at: new Date(latest.orderedAt).toISOString() }
  }

  /** The claims that were not withdrawn, latest first. */
  async function listClaims(from: Reader, purchaseKey: string): Promise<Claim[]> {
    const events = await listClaimEvents(from, purchaseKey)
    const withdrawn = new Set(events.map(({ body }) => body['withdrawn_claim']))
    return events
      .filter(({ type, eventId }) => type === PURCHASE_CLAIMED && !withdrawn.has(eventId))
      .map(({ eventId, appUserId, orderedAt, body }) => ({
        eventId,
        userId: appUserId,
        orderedAt,
        isMove: body['is_move'] === true,
        support: readAttribution(body['support']),
      }))
  }

  async function listClaimEvents(from: Reader, purchaseKey: string) {
    const rows = await findClaims(from).execute({ purchaseKey })
    return rows.map((row) => ({
      ...row,
      body: JSON.parse(utf8(row.body)).event as Record<string, unknown>,
    }))
  }

  async function latestEventAt(from: Reader, purchaseKey: string): Promise<number> {
    const [row] = await findLatest(from).execute({ purchaseKey })
    return row?.orderedAt ?? 0
  }
}

/**
 * Allows the owner before all moves since a time, once, and the owner before the last move: otherwise a thief could
 * keep the owner out by moving the purchase twice. Decisions of support are final. `owners`: latest first.
 */
function mayTakeBack(owners: Owner[], userId: string, since: number): boolean {
  const decided = owners.findIndex(({ support }) => support !== null)
  const current = decided === -1 ? owners : owners.slice(0, decided + 1)
  const moves = current.filter(({ isMove, orderedAt }) => isMove && orderedAt > since)
  const losers = moves.flatMap((move) => current[current.indexOf(move) + 1]?.userId ?? [])
  if (losers.at(-1) === userId) return !moves.some((move) => move.userId === userId)
  return losers[0] === userId && !isTakenBack(owners)
}

/** `owners`: latest first. */
function isTakenBack(owners: Owner[]): boolean {
  const move = owners.findIndex(({ isMove }) => isMove)
  const { userId = null } = owners[move] ?? {}
  return userId !== null && owners.slice(move + 1).some((owner) => owner.userId === userId)
}
