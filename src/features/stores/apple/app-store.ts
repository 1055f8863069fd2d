import type { AppStoreApp } from '../../../config/subjects/stores.ts'
import { HOUR_MS } from '../../../lib/time/durations.ts'
import type { StoredEnvironment } from '../../billing/environment.ts'
import type { Delivery } from '../../billing/inbox/event.ts'
import { toList } from '../json.ts'
import type { AppleApi, AppleCall } from './api.ts'
import { AppleApiError } from './api-error.ts'
import { AppleTokenError } from './certificates.ts'
import { readSnapshot, type SignedPurchase } from './snapshot.ts'
import type { Claims, VerifyToken } from './token.ts'

type AppStoreDeps = { api: AppleApi; apps: AppStoreApp[]; verify: VerifyToken }

/** What the operator tells Apple about a purchase whose refund was requested. */
export type Consumption = {
  customerConsented: true
  deliveryStatus: string
  sampleContentProvided: boolean
  refundPreference?: string
}

/** Apple limits requests per hour; other calls need their share. */
const PAGE_DELAY_MS = 200

export type AppStore = ReturnType<typeof createAppStore>

/** Every function throws `AppleApiError`. */
export function createAppStore({ api, apps, verify }: AppStoreDeps) {
  return {
    readPurchases,
    findTransactions,
    setAccountToken,
    sendConsumption,
    readNotifications,
    check,
    sendTest,
    readTest,
    isKeyRefused: api.isKeyRefused,
  }

  /** All subscriptions of the customer who made a transaction, or a one-time purchase. Empty if Apple has no record. */
  async function readPurchases(
    transactionId: string,
    environment: StoredEnvironment,
    signal?: AbortSignal,
  ): Promise<Delivery[]> {
    const id = encodeURIComponent(transactionId)
    const subscriptions = await callForItsApp(
      `/inApps/v1/subscriptions/${id}`,
      { environment },
      signal,
    )
    const snapshots = readSnapshots(subscriptions ?? {})
    // Apple also lists the customer's subscriptions if the transaction is that of another purchase.
    if (snapshots.some((snapshot) => isAbout(snapshot, transactionId))) return snapshots
    const path = `/inApps/v1/transactions/${id}`
    const found = await callForItsApp(path, { environment }, signal)
    const transaction = found?.['signedTransactionInfo']
    return transaction === undefined ? snapshots : [...snapshots, toDelivery({ transaction })]
  }

  /** The original transactions of an order number on a customer's receipt, or of another transaction. */
  async function findTransactions(id: string): Promise<string[]> {
    if (/^\d+$/.test(id)) {
      const replies = await Promise.allSettled(
        (['PRODUCTION', 'SANDBOX'] as const).map((environment) => readPurchases(id, environment)),
      )
      const failure = replies.find((reply) => reply.status === 'rejected')
      const found = replies.flatMap((reply) => (reply.status === 'fulfilled' ? reply.value : []))
      // Apple refuses the key in production until the app is released.
      if (failure && found.length === 0) throw failure.reason
      const own = found.filter((delivery) => isAbout(delivery, id))
      return [...new Set(own.flatMap(({ event }) => event.originalTransactionId ?? []))]
    }
    const environment = 'PRODUCTION'
    const path = `/inApps/v1/lookup/${encodeURIComponent(id)}`
    const readTransactions = (reply: Claims | null) => {
      const signed = reply?.['signedTransactions']
      return Array.isArray(signed) ? signed : []
    }
    // Apple answers for each app, including those that the order does not belong to.
    const isKnown = (reply: Claims) => readTransactions(reply).length > 0
    const reply = await callForItsApp(path, { environment }, undefined, isKnown)
    return readTransactions(reply).flatMap(
      (transaction) => toDelivery({ transaction }).event.originalTransactionId ?? [],
    )
  }

  async function check({ bundleId }: AppStoreApp, environment: StoredEnvironment) {
    const now = Date.now()
    const body = { startDate: now - HOUR_MS, endDate: now }
    const path = '/inApps/v1/notifications/history'
    await api.call(path, { environment, bundleId, method: 'POST', body })
  }

  function readSnapshots({ data }: Claims): Delivery[] {
    const transactions = toList(data).flatMap((group) => toList(group['lastTransactions']))
    return transactions.map(({ signedTransactionInfo, signedRenewalInfo, status }) =>
      toDelivery({
        transaction: signedTransactionInfo,
        renewal: signedRenewalInfo,
        ...(typeof status === 'number' ? { status } : {}),
      }),
    )
  }

  function toDelivery(signed: SignedPurchase): Delivery {
    try {
      return readSnapshot(signed, verify, apps)
    } catch (error) {
      throw error instanceof AppleTokenError ? new AppleApiError('unreadable') : error
    }
  }

  /**
   * The response for the first app that knows the transaction in `path`; else null. Throws `refused_key` only if Apple
   * refuses the key for every app, as it does for an app that is not released.
   */
  async function callForItsApp(
    path: string,
    call: Omit<AppleCall, 'bundleId'>,
    signal?: AbortSignal,
    isKnown: (reply: Claims) => boolean = () => true,
  ): Promise<Claims | null> {
    let refusal: AppleApiError | null = null
    let isUnknown = false
    for (const { bundleId } of apps) {
      try {
        const reply = await api.call(path, { ...call, bundleId }, signal)
        if (isKnown(reply)) return reply
        isUnknown = true
      } catch (error) {
        if (!(error instanceof AppleApiError)) throw error
        if (error.reason === 'refused_key') refusal = error
        else if (error.reason === 'unknown') isUnknown = true
        else throw error
      }
    }
    if (refusal !== null && !isUnknown) throw refusal
    return null
  }

  /** Makes later notifications about the purchase name the user, where Apple allows it. */
  async function setAccountToken(
    transactionId: string,
    environment: StoredEnvironment,
    userId: string,
  ) {
    const path = `/inApps/v1/transactions/${encodeURIComponent(transactionId)}/appAccountToken`
    try {
      const body = { appAccountToken: userId }
      await callForItsApp(path, { environment, method: 'PUT', body })
    } catch (error) {
      if (!(error instanceof AppleApiError) || error.reason !== 'rejected') throw error
    }
  }

  /** Throws `unknown` if no app knows the transaction. */
  async function sendConsumption(
    transactionId: string,
    environment: StoredEnvironment,
    body: Consumption,
  ) {
    const path = `/inApps/v2/transactions/consumption/${encodeURIComponent(transactionId)}`
    const reply = await callForItsApp(path, { environment, method: 'PUT', body })
    if (reply === null) throw new AppleApiError('unknown')
  }

  /** Yields notifications page by page. */
  async function* readNotifications(
    { bundleId }: AppStoreApp,
    environment: StoredEnvironment,
    from: Date,
    to: Date,
    signal: AbortSignal,
  ): AsyncGenerator<unknown[]> {
    const body = { startDate: from.getTime(), endDate: to.getTime() }
    const call = { environment, bundleId, method: 'POST' as const, body }
    for (let page = ''; ; ) {
      const path = `/inApps/v1/notifications/history${page}`
      const { notificationHistory, hasMore, paginationToken } = await api.call(path, call, signal)
      yield toList(notificationHistory).map(({ signedPayload }) => signedPayload)
      if (hasMore !== true || typeof paginationToken !== 'string') return
      await Bun.sleep(PAGE_DELAY_MS)
      page = `?paginationToken=${encodeURIComponent(paginationToken)}`
    }
  }

  /** Makes Apple send a notification of type TEST. Returns the token that `readTest` takes. */
  async function sendTest({ bundleId }: AppStoreApp, environment: StoredEnvironment) {
    const path = '/inApps/v1/notifications/test'
    const reply = await api.call(path, { environment, bundleId, method: 'POST' })
    return String(reply['testNotificationToken'] ?? '')
  }

  /** The result of the last attempt to send a test, such as `SUCCESS`; null while there is none. */
  async function readTest(
    { bundleId }: AppStoreApp,
    environment: StoredEnvironment,
    token: string,
  ): Promise<string | null> {
    const path = `/inApps/v1/notifications/test/${encodeURIComponent(token)}`
    try {
      const { sendAttempts } = await api.call(path, { environment, bundleId })
      const result = toList(sendAttempts).at(-1)?.['sendAttemptResult']
      return typeof result === 'string' ? result : null
    } catch (error) {
      // Apple has no record of the test until it has been sent.
      if (error instanceof AppleApiError && error.code === 4040008) return null
      throw error
    }
  }
}

function isAbout({ event }: Delivery, transactionId: string): boolean {
  return event.transactionId === transactionId || event.originalTransactionId === transactionId
}
