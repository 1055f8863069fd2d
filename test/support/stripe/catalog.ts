import type Stripe from 'stripe'
import type { Core } from './core.ts'
import { checkAmount } from './currencies.ts'
import { createPriceObject, createProductObject, type PriceOptions } from './objects/catalog.ts'

/** Products and prices, as created in the Dashboard. */
export function createCatalog({ objects, timeline }: Core) {
  return { createProduct, createPrice, archivePrice }

  function createProduct(name = 'Pro', isLive = true): Stripe.Product {
    const made = { id: objects.createId('prod', 14), created: timeline.now(), livemode: isLive }
    return objects.add('product', createProductObject(made, name), isLive)
  }

  function createPrice(options: PriceOptions = {}, isLive = true): Stripe.Price {
    const { id = objects.createId('price'), amount = 999, currency = 'usd' } = options
    checkAmount(amount, currency)
    const product = options.product ?? createProduct(options.nickname, isLive).id
    const made = { id, created: timeline.now(), livemode: isLive }
    return objects.add('price', createPriceObject(made, product, options), isLive)
  }

  /** Stops selling a price; its subscriptions continue. */
  function archivePrice(price: Stripe.Price) {
    price.active = false
  }
}
