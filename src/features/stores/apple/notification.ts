import type { AppStoreApp } from '../../../config/subjects/stores.ts'
import { toObject } from '../../../lib/text/json.ts'
import type { StoredEnvironment } from '../../billing/environment.ts'
import { AppleTokenError } from './certificates.ts'
import type { Claims, VerifyToken } from './token.ts'

/** A notification as the log stores it: decoded, without signatures. Every event is derived from it. */
export type AppleDocument = {
  notification: Claims
  transaction: Claims | null
  renewal: Claims | null
}

const ENVIRONMENTS = ['Production', 'Sandbox']

/**
 * Also verifies the signed data inside it. Throws `AppleTokenError`; only the fault `other_app` means that Apple has
 * signed the notification.
 * https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2decodedpayload
 */
export function readNotification(
  signedPayload: unknown,
  verify: VerifyToken,
  apps: AppStoreApp[],
): AppleDocument {
  const outer = verify(signedPayload)
  const { data, ...notification } = outer
  const { signedTransactionInfo, signedRenewalInfo, ...described } = toObject(data)
  const transaction = signedTransactionInfo === undefined ? null : verify(signedTransactionInfo)
  const renewal = signedRenewalInfo === undefined ? null : verify(signedRenewalInfo)
  checkApp(outer, apps)
  checkContent(transaction, renewal, described)
  const hasData = data !== undefined
  return {
    notification: { ...notification, ...(hasData ? { data: described } : {}) },
    transaction,
    renewal,
  }
}

export function findSubject(notification: Claims): Claims {
  const { data, summary, appData, externalPurchaseToken } = notification
  return toObject(data ?? summary ?? appData ?? externalPurchaseToken)
}

/** Null for `Xcode` and `LocalTesting`: anyone can sign for those with a certificate of their own. */
export function readEnvironment(notification: Claims): StoredEnvironment | null {
  const { environment, externalPurchaseId } = findSubject(notification)
  if (typeof externalPurchaseId === 'string') {
    return externalPurchaseId.startsWith('SANDBOX') ? 'SANDBOX' : 'PRODUCTION'
  }
  if (typeof environment !== 'string' || !ENVIRONMENTS.includes(environment)) return null
  return environment === 'Sandbox' ? 'SANDBOX' : 'PRODUCTION'
}

function checkApp(notification: Claims, apps: AppStoreApp[]) {
  const environment = readEnvironment(notification)
  if (environment === null) throw new AppleTokenError('wrong_environment')
  const { bundleId, appAppleId } = findSubject(notification)
  const app = apps.find((candidate) => candidate.bundleId === bundleId)
  // Sandbox notifications lack the app's id in the store.
  const isOurs = app && (environment === 'SANDBOX' || appAppleId === app.appleId)
  if (!isOurs) throw new AppleTokenError('other_app')
}

/**
 * Both must be about the same purchase. A transaction names the bundle and the environment, renewal info only the
 * environment.
 */
export function checkContent(
  transaction: Claims | null,
  renewal: Claims | null,
  { bundleId, environment }: Claims,
) {
  for (const inner of [transaction, renewal]) {
    const isSame =
      inner === null ||
      (inner['environment'] === environment &&
        (inner['bundleId'] === undefined || inner['bundleId'] === bundleId))
    if (!isSame) throw new AppleTokenError('contradiction')
  }
  const isOnePurchase =
    transaction === null ||
    renewal === null ||
    transaction['originalTransactionId'] === renewal['originalTransactionId']
  if (!isOnePurchase) throw new AppleTokenError('contradiction')
}
