import { readStoredEvent } from './stored-event.ts'

/** An amount in a currency, as the store or the provider has reported it. */
type Money = { amount: number; currency: string }

/** What an event says about the purchase, for lists. */
export type EventFacts = { store: string | null; productId: string | null; price: Money | null }

const UNKNOWN: EventFacts = { store: null, productId: null, price: null }

/** The facts in the body of a row of the log; unknown for a body that is erased or cannot be read. */
export function eventFacts(provider: string, body: Uint8Array): EventFacts {
  try {
    const event = readStoredEvent(provider, body)
    if (event === null) return UNKNOWN
    const { store, productId, price, paid } = event
    if (paid !== null) {
      const { currency, amount } = paid
      return { store, productId, price: { currency, amount: amount / 1000 } }
    }
    const inDollars = price === null ? null : { amount: price, currency: 'USD' }
    return { store, productId, price: inDollars }
  } catch {
    return UNKNOWN
  }
}
