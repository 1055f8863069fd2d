import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../app.ts'
import { createAppleSigner } from './apple-signer.ts'
import { createSubscription, FAKE_APP, type PurchaseOptions } from './subscription.ts'

export type AppStore = Awaited<ReturnType<typeof createAppStore>>
export type FakeSubscription = ReturnType<AppStore['buy']>

/** A subscription, or a product bought once, which has no renewal info and no status. */
export type FakePurchase = {
  originalTransactionId: string
  environment: string
  signedTransaction: () => string
  signedRenewal?: () => string
  status?: () => number
}

/**
 * A fake App Store with its own root certificate, whose subscriptions use the test's clock. Each change to a
 * subscription returns the signed notification about it.
 */
export async function createAppStore(clock: Clock) {
  const signer = await createAppleSigner()
  const rootFile = join(mkdtempSync(join(tmpdir(), 'homeport-app-store-')), 'root.cer')
  writeFileSync(rootFile, signer.root.raw)
  const { bundleId, appleId } = FAKE_APP
  const settings = {
    APP_STORE_APPS: `${bundleId}:${appleId}`,
    APP_STORE_ROOT_FILE: rootFile,
  }
  const purchases: FakePurchase[] = []
  /** Every notification, oldest first, as the App Store's history has them. */
  const sent: { at: number; environment: string; signedPayload: string }[] = []
  let count = 0
  return { signer, environment: settings, purchases, sent, buy, buyOnce, notification, orderOf }

  /** Buys a subscription now; `notification` reports the purchase. */
  function buy(options: PurchaseOptions = {}) {
    const id = 2_000_000_000 + ++count
    const bought = createSubscription({ id, signer, now, notification }, options)
    purchases.push(bought)
    return bought
  }

  /** Buys a product once, such as a `Consumable`; `notification` reports the purchase. */
  function buyOnce(
    type: string,
    { environment = 'Production', product = 'coins', userId = null }: PurchaseOptions = {},
  ) {
    const transactionId = String(3_000_000_000 + ++count)
    const transaction: Record<string, unknown> = {
      originalTransactionId: transactionId,
      transactionId,
      bundleId,
      environment,
      type,
      inAppOwnershipType: 'PURCHASED',
      productId: product,
      originalPurchaseDate: now(),
      purchaseDate: now(),
      ...(userId === null ? {} : { appAccountToken: userId }),
    }
    const signedTransaction = () => signer.sign({ ...transaction, signedDate: now() })
    purchases.push({ originalTransactionId: transactionId, environment, signedTransaction })
    return { transactionId, signedTransaction, notification: sign('ONE_TIME_CHARGE'), refund }

    function refund() {
      transaction['revocationDate'] = now()
      return sign('REFUND')
    }

    function sign(notificationType: string) {
      const app = environment === 'Production' ? { appAppleId: appleId } : {}
      const signedTransactionInfo = signedTransaction()
      return notification(notificationType, undefined, {
        data: { environment, ...app, bundleId, signedTransactionInfo },
      })
    }
  }

  /** A signed notification: its claims, and the body that delivers it. */
  function notification(type: string, subtype: string | undefined, rest: object) {
    const claims = {
      notificationType: type,
      ...(subtype === undefined ? {} : { subtype }),
      notificationUUID: crypto.randomUUID(),
      version: '2.0',
      signedDate: now(),
      ...rest,
    }
    const signedPayload = signer.sign(claims)
    const { environment = 'Production' } = (Object.values(rest)[0] ?? {}) as PurchaseOptions
    sent.push({ at: now(), environment, signedPayload })
    return { claims, body: { signedPayload } }
  }

  /** The order number on the customer's receipt. */
  function orderOf(transactionId: string) {
    return `M${transactionId}`
  }

  function now() {
    return clock.now.getTime()
  }
}
