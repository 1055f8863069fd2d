import { and, desc, eq } from 'drizzle-orm'
import { AppError } from '../../../lib/errors.ts'
import type { ExistingUsers } from '../../../platform/user-table.ts'
import type { Environment } from '../../billing/environment.ts'
import { type Attribution, checkAttribution } from '../../billing/inbox/attribution.ts'
import type { EventLog } from '../../billing/inbox/event-log.ts'
import { listKeys, parsePurchaseKey } from '../../billing/purchases/purchase-key.ts'
import { INDEX_CONDITIONS } from '../../billing/schema.ts'
import { AppleApiError } from '../apple/api-error.ts'
import type { AppStore, Consumption } from '../apple/app-store.ts'
import type { Overdue } from '../checks/overdue.ts'
import { PlayApiError } from '../google/api/api-error.ts'
import type { Play } from '../google/play.ts'
import type { StoresDb } from '../schema.ts'
import { StripeApiError } from '../stripe/api/api-error.ts'
import type { Stripe } from '../stripe/stripe.ts'
import type { Claims } from './claims.ts'
import type { PurchaseSearch } from './search.ts'

type PurchaseActionsDeps = {
  db: StoresDb
  eventLog: Pick<EventLog, 'readEvent'>
  claims: Claims
  search: PurchaseSearch
  existingUsers: ExistingUsers
  /** Null if there is no key for Apple's API. */
  appStore: AppStore | null
  overdue: Overdue | null
  /** Null if Google Play is not set up. */
  play: Play | null
  /** Null if Stripe is not set up. */
  stripe: Stripe | null
}

const MAX_REQUESTS_READ = 1_000

/** Every function throws 404 for an unknown purchase. */
export function createPurchaseActions(deps: PurchaseActionsDeps) {
  const { db, eventLog, claims, search, existingUsers, appStore, overdue, play, stripe } = deps
  const { billingEvents } = db.tables
  return { refresh, link, unlink, answerRefund, cancel }

  /** Throws 503 without a key for the store's API. */
  async function refresh(id: string) {
    const [known] = await search.findKnown(id)
    if (known?.store === 'PLAY_STORE' || /^gpa\.|^[0-9a-f]{64}$/i.test(id)) {
      await refreshFromGoogle(known?.transactionId ?? id)
      return search.findOrThrow(id)
    }
    if (known?.store === 'STRIPE') {
      await requireStripe().refreshPurchase(known.transactionId).catch(throwAsReply)
      return search.findOrThrow(id)
    }
    const [store, checks] = [requireKey(appStore), requireKey(overdue)]
    try {
      const transactionIds = /^\d+$/.test(id) ? [id] : await store.findTransactions(id)
      for (const transactionId of transactionIds) await refreshInBoth(transactionId, checks)
    } catch (error) {
      throw asReply(error)
    }
    return search.findOrThrow(id)
  }

  /** Cancels a subscription at Stripe when its period ends, or now. Throws 409 for several, or for other purchases. */
  async function cancel(id: string, isNow: boolean) {
    const found = await search.findOrThrow(id)
    if (found.some(({ store }) => store !== 'STRIPE'))
      throw new AppError(
        'conflict',
        'Only a subscription that was sold by card can be cancelled here.',
      )
    const itemIds = found.map(({ transactionId }) => transactionId)
    await requireStripe().cancelPurchases(itemIds, isNow).catch(throwAsReply)
    return search.findOrThrow(id)
  }

  function requireStripe(): Stripe {
    if (stripe !== null) return stripe
    throw new AppError('unavailable', 'Stripe is not set up.')
  }

  async function refreshFromGoogle(id: string) {
    if (play === null) throw new AppError('unavailable', NO_PLAY)
    const purchase =
      (await play.purchases.findByLine(id)) ?? (await play.purchases.find(db.read, id))
    const isKnown = purchase !== null && purchase.purchaseToken !== ''
    if (!isKnown) throw new AppError('not_found', NO_TOKEN)
    const leased = await play.queue.leaseOne(purchase.tokenHash)
    if (leased === null)
      throw new AppError(
        'unavailable',
        'This purchase is already being refreshed. Try again in a minute.',
      )
    await play.queue.refreshNow(leased).catch((error) => {
      throw asReply(error)
    })
  }

  /** In both environments, because Apple refuses production until the app is released. */
  async function refreshInBoth(transactionId: string, { refresh }: Overdue) {
    const known = await search.findKnown(transactionId)
    const keys = known.length > 0 ? known.map((one) => one.purchaseKey) : listKeys(transactionId)
    const results = await Promise.allSettled(keys.map((key) => refresh(key)))
    const isKnown = results.some((result) => result.status === 'fulfilled' && result.value)
    const failure = results.find((result) => result.status === 'rejected')
    if (failure && !isKnown) throw failure.reason
  }

  /** In both environments unless one is given. Throws 404 also for an unknown user, and 409 if it cannot be moved. */
  async function link(id: string, userId: string, by: Attribution, environment?: Environment) {
    const attribution = checkAttribution(by)
    const found = await search.findOrThrow(id, environment)
    for (const { purchaseKey, source } of found) {
      if (source === 'granted')
        throw new AppError('conflict', 'Granted access cannot be moved. Revoke it.')
      if (purchaseKey.split('|').length > 2)
        throw new AppError('conflict', 'A purchase without a transaction id cannot be moved.')
    }
    await db.write(async (tx) => {
      const [user] = await existingUsers(tx, [userId])
      if (user === undefined) throw new AppError('not_found', `There is no user ${userId}.`)
      for (const { purchaseKey } of found)
        await claims.linkBySupport(tx, userId, purchaseKey, attribution)
    })
  }

  /**
   * Undoes the latest link, or only `link`. Throws 409 if there is none, it was already undone, or the user has
   * submitted the purchase since.
   */
  async function unlink(id: string, by: Attribution, link?: string) {
    const attribution = checkAttribution(by)
    const found = await search.findOrThrow(id)
    const undone = await db.write(async (tx) => {
      const results = []
      for (const { purchaseKey } of found) {
        results.push(await claims.withdraw(tx, purchaseKey, attribution, link))
      }
      return results
    })
    if (!undone.includes(true)) {
      throw new AppError(
        'conflict',
        link === undefined
          ? 'There is no link by support to undo.'
          : 'This link was already undone, or the purchase has moved since. Reload the page.',
      )
    }
  }

  /**
   * Apple accepts it within 12 hours of its CONSUMPTION_REQUEST. `id`: the transaction of the request, or the purchase.
   * Returns the transactions.
   */
  async function answerRefund(id: string, consumption: Consumption): Promise<string[]> {
    const store = requireKey(appStore)
    const answered: string[] = []
    for (const { purchaseKey } of await search.findOrThrow(id)) {
      const { environment, transactionId: original } = parsePurchaseKey(purchaseKey)
      const isTransaction = /^\d+$/.test(id) && id !== original
      const transactionId = isTransaction ? id : await findRequestedTransaction(original)
      await store.sendConsumption(transactionId, environment, consumption).catch((error) => {
        throw asReply(error)
      })
      answered.push(transactionId)
    }
    return answered
  }

  /** The transaction of the latest refund request about a purchase, or else its original one. */
  async function findRequestedTransaction(original: string): Promise<string> {
    const requests = await db.read
      .select({ provider: billingEvents.provider, body: billingEvents.body })
      .from(billingEvents)
      .where(
        and(eq(billingEvents.type, 'CONSUMPTION_REQUEST'), INDEX_CONDITIONS.rare(billingEvents)),
      )
      .orderBy(desc(billingEvents.id))
      .limit(MAX_REQUESTS_READ)
    for (const { provider, body } of requests) {
      const event = eventLog.readEvent(provider, body)
      if (event?.originalTransactionId === original) return event.transactionId ?? original
    }
    return original
  }
}

export const NO_APPLE_KEY =
  'This needs a key for Apple\'s API: "homeport stores check" says which settings are missing.'
export const NO_PLAY = 'Google Play is not set up.'
const NO_TOKEN =
  'Homeport has no purchase token for this purchase: the app must submit it, or it has expired at Google.'

/** The message of a store's error says what to do. */
function asReply(error: unknown): unknown {
  return [AppleApiError, PlayApiError, StripeApiError].some((kind) => error instanceof kind)
    ? new AppError('unavailable', (error as Error).message)
    : error
}

export function throwAsReply(error: unknown): never {
  throw asReply(error)
}

/** Throws 503 without the key for Apple's API. */
export function requireKey<Service>(service: Service | null): Service {
  if (service !== null) return service
  throw new AppError('unavailable', NO_APPLE_KEY)
}
