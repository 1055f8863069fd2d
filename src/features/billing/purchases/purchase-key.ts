import type { StoredEnvironment } from '../environment.ts'

/**
 * The environment and the original transaction id in the key of a purchase. Without a transaction the key has store,
 * product and user instead, which stand for the id.
 */
export function parsePurchaseKey(purchaseKey: string) {
  const [environment, ...rest] = purchaseKey.split('|')
  return { environment: environment as StoredEnvironment, transactionId: rest.join('|') }
}

/** The id in what an operator has typed: Google's order ids begin in capitals. */
export function parseTransactionId(text: string): string {
  return text.trim().replace(/^gpa\./i, 'GPA.')
}

/** Whether an operator has typed an order id of Google's. */
export function isGoogleId(id: string): boolean {
  return parseTransactionId(id).startsWith('GPA.')
}

/** The keys that a purchase with an original transaction id, or with any of Google's order ids, may have. */
export function listKeys(text: string): string[] {
  const original = parseOriginalId(text)
  return [`PRODUCTION|${original}`, `SANDBOX|${original}`]
}

/** Google's order ids of renewals append `..0`, `..1` and so on to that of the purchase. */
export function parseOriginalId(text: string): string {
  const id = parseTransactionId(text)
  return id.startsWith('GPA.') ? id.replace(/\.\.\d*$/, '') : id
}
