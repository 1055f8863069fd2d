import { sha256 } from '../../../../lib/crypto/hash.ts'
import type { Delivery } from '../../../billing/inbox/event.ts'
import { type StripeDocument, stripeEvent } from './event.ts'

/** For the event log. `content`: the part that is the same in every delivery of the event. */
export function toDelivery(document: StripeDocument, content: unknown = document): Delivery {
  return {
    provider: 'stripe',
    event: stripeEvent(document),
    bytes: Buffer.from(JSON.stringify(document)),
    hash: sha256(JSON.stringify(content), 'hex'),
  }
}
