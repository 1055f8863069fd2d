import type { AppStoreApp } from '../../../config/subjects/stores.ts'
import { sha256 } from '../../../lib/crypto/hash.ts'
import type { Delivery } from '../../billing/inbox/event.ts'
import { appleEvent } from './event.ts'
import { findSubject, readNotification } from './notification.ts'
import type { VerifyToken } from './token.ts'

/** The bytes are the decoded document. Null if its id, type or environment is missing. Throws `AppleTokenError`. */
export function readAppleDelivery(
  signedPayload: unknown,
  verify: VerifyToken,
  apps: AppStoreApp[],
): (Delivery & { bundleId: string }) | null {
  const document = readNotification(signedPayload, verify, apps)
  const event = appleEvent(document)
  if (event === null) return null
  const bytes = Buffer.from(JSON.stringify(document))
  const signed = String(signedPayload)
  const bundleId = String(findSubject(document.notification)['bundleId'])
  return { provider: 'app_store', event, bundleId, bytes, signed, hash: contentHash(document) }
}

/** In hex. Ignores `signedDate`: Apple may sign the same content again. */
export function contentHash(document: object): string {
  const text = JSON.stringify(document, (key, value) => (key === 'signedDate' ? undefined : value))
  return sha256(text, 'hex')
}
