import type { BillingEvent } from '../../inbox/event.ts'

/** The environment and the original transaction id in the key of a store's purchase. */
export function transactionOf(purchaseKey: string) {
  const [environment, transactionId = ''] = purchaseKey.split('|')
  return { environment: environment as BillingEvent['environment'], transactionId }
}

/** The keys that a purchase with an original transaction id may have. */
export function keysOf(transactionId: string): string[] {
  return [`PRODUCTION|${transactionId}`, `SANDBOX|${transactionId}`]
}
