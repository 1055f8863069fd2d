import type { BillingEvent } from '../../inbox/event.ts'

/** The environment and the original transaction id in the key of a store's purchase. */
export function transactionOf(purchaseKey: string) {
  const [environment, transactionId = ''] = purchaseKey.split('|')
  return { environment: environment as BillingEvent['environment'], transactionId }
}

/** The keys that a purchase with an original transaction id, or with any of Google's order ids, may have. */
export function keysOf(transactionId: string): string[] {
  const original = transactionId.startsWith('GPA.')
    ? transactionId.replace(/\.\.\d+/, '')
    : transactionId
  return [`PRODUCTION|${original}`, `SANDBOX|${original}`]
}
