import { listIn, objectIn } from '../stores/json.ts'
import { readStoredEvent, utf8 } from './stored-event.ts'

/** An amount in a currency, as the store or the provider has reported it. */
type Money = { amount: number; currency: string }

/** What an event says about the purchase, for lists. */
export type EventFacts = { store: string | null; productId: string | null; price: Money | null }

const UNKNOWN: EventFacts = { store: null, productId: null, price: null }
const CURRENCY = /^[A-Z]{3}$/

/** The facts in the body of a row of the log; unknown for a body that is erased or cannot be read. */
export function eventFacts(provider: string, body: Uint8Array): EventFacts {
  try {
    const event = readStoredEvent(provider, body)
    if (event === null) return UNKNOWN
    const { store, productId, price, periodType } = event
    const isTrial = periodType === 'TRIAL'
    const inDollars = price === null ? null : { amount: price, currency: 'USD' }
    const paid = priceIn(provider, JSON.parse(utf8(body)), productId)
    // Google reports what a renewal costs, also during a trial.
    return {
      store,
      productId,
      price: isTrial && provider === 'play_store' ? null : (paid ?? inDollars),
    }
  } catch {
    return UNKNOWN
  }
}

/** The price in the currency of the payment. */
function priceIn(provider: string, document: Fields, productId: string | null): Money | null {
  if (provider === 'app_store') {
    const { price, currency } = objectIn(document['transaction'])
    // Thousandths of the currency.
    return typeof price === 'number' ? money(price / 1000, currency) : null
  }
  if (provider === 'play_store') {
    const items = listIn(objectIn(document['reply'])['lineItems'])
    const item = items.find((one) => `${productId}:`.startsWith(`${one['productId']}:`))
    const { currencyCode, units, nanos } = objectIn(
      objectIn(item?.['autoRenewingPlan'])['recurringPrice'],
    )
    return money(Number(units ?? 0) + Number(nanos ?? 0) / 1e9, currencyCode)
  }
  const { price_in_purchased_currency: price, currency } = objectIn(document['event'])
  return money(price, currency)
}

type Fields = Record<string, unknown>

function money(amount: unknown, currency: unknown): Money | null {
  if (typeof amount !== 'number' || !Number.isFinite(amount)) return null
  return typeof currency === 'string' && CURRENCY.test(currency) ? { amount, currency } : null
}
