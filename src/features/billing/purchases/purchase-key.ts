import type { StoredEnvironment } from '../environment.ts'

/** Without a transaction, the key has store, product and user instead of a transaction id. */
export function parsePurchaseKey(purchaseKey: string) {
  const [environment, ...rest] = purchaseKey.split('|')
  return { environment: environment as StoredEnvironment, transactionId: rest.join('|') }
}

/** Reads an id that an operator has typed: Google's order ids begin with capital letters. */
export function parseTransactionId(text: string): string {
  return text.trim().replace(/^gpa\./i, 'GPA.')
}

/** The keys that a purchase with an original transaction id, or with any of Google's order ids, may have. */
export function listKeys(text: string): string[] {
  const original = parseOriginalId(text)
  return [`PRODUCTION|${original}`, `SANDBOX|${original}`]
}

/** Google's order ids of renewals append `..0`, `..1` and so on to the purchase's order id. */
export function parseOriginalId(text: string): string {
  const id = parseTransactionId(text)
  return id.startsWith('GPA.') ? id.replace(/\.\.\d*$/, '') : id
}
