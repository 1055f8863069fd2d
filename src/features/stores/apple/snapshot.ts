import type { AppStoreApp } from '../../../config/subjects/stores.ts'
import type { Delivery } from '../../billing/inbox/event.ts'
import { AppleTokenError } from './certificates.ts'
import { contentHash } from './delivery.ts'
import { appleEvent, SNAPSHOT } from './event.ts'
import { type AppleDocument, checkContent, readEnvironment } from './notification.ts'
import type { VerifyToken } from './token.ts'

/** From a response of Apple's API, or submitted by an app; the tokens are signed. */
export type SignedPurchase = { transaction: unknown; renewal?: unknown; status?: number }

/** The same signed data gives the same id. Throws `AppleTokenError`. */
export function readSnapshot(
  signed: SignedPurchase,
  verify: VerifyToken,
  apps: AppStoreApp[],
): Delivery {
  const transaction = verify(signed.transaction)
  const renewal = signed.renewal === undefined ? null : verify(signed.renewal)
  const { bundleId, environment } = transaction
  const isOurs = apps.some((one) => one.bundleId === bundleId)
  if (!isOurs) throw new AppleTokenError('other_app')
  checkContent(transaction, renewal, { bundleId, environment })
  const { status } = signed
  const data = { bundleId, environment, ...(status === undefined ? {} : { status }) }
  const hash = contentHash({ data, transaction, renewal })
  const document: AppleDocument = {
    notification: {
      notificationType: SNAPSHOT,
      notificationUUID: `${hash.slice(0, 32)}:${transaction['signedDate']}`,
      signedDate: transaction['signedDate'],
      data,
    },
    transaction,
    renewal,
  }
  if (readEnvironment(document.notification) === null)
    throw new AppleTokenError('wrong_environment')
  const event = appleEvent(document)
  if (event === null || event.originalTransactionId === null) throw new AppleTokenError('malformed')
  const bytes = Buffer.from(JSON.stringify(document))
  const tokens = [signed.transaction, signed.renewal ?? []].flat().join('\n')
  return { provider: 'app_store', event, bytes, signed: tokens, hash }
}
