import type { BillingEvent } from '../../inbox/event.ts'

/** The environment and the original transaction id in the key of a store's purchase. */
export function transactionOf(purchaseKey: string) {
  const [environment, transactionId = ''] = purchaseKey.split('|')
  return { environment: environment as BillingEvent['environment'], transactionId }
}
