import type { StoredEnvironment } from '../environment.ts'

/**
 * The environment and the original transaction id in the key of a purchase. Without a transaction the key has store,
 * product and user instead, which stand for the id.
 */
export function transactionOf(purchaseKey: string) {
  const [environment, ...rest] = purchaseKey.split('|')
  return { environment: environment as StoredEnvironment, transactionId: rest.join('|') }
}

/** The id in what an operator has typed: Google's order ids begin in capitals. */
export function transactionIdIn(text: string): string {
  return text.trim().replace(/^gpa\./i, 'GPA.')
}

/** Whether an operator has typed an order id of Google's. */
export function isGoogleId(id: string): boolean {
  return transactionIdIn(id).startsWith('GPA.')
}

/** The keys that a purchase with an original transaction id, or with any of Google's order ids, may have. */
export function keysOf(text: string): string[] {
  const original = originalIdIn(text)
  return [`PRODUCTION|${original}`, `SANDBOX|${original}`]
}

/** Google's order ids of renewals append `..0`, `..1` and so on to that of the purchase. */
export function originalIdIn(text: string): string {
  const id = transactionIdIn(text)
  return id.startsWith('GPA.') ? id.replace(/\.\.\d*$/, '') : id
}
