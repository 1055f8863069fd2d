import { googleError } from './api-error.ts'
import type { FakePurchase, PlayStore } from './play-store.ts'

const MIN_TOKEN_LENGTH = 10

/** A call about one purchase, as its path names it. */
export type PurchaseCall = {
  method: string
  /** `subscriptionsv2`, `subscriptions`, `productsv2` or `products`. */
  collection: string
  productId: string | null
  token: string
  action: 'get' | 'acknowledge' | 'consume'
}

const PATH = /^(subscriptionsv2|subscriptions|productsv2|products)(?:\/([^/]+))?\/tokens\/([^/]+)$/
const ACTION = /:(acknowledge|consume)$/

/** Reads the path after `purchases/`; null if it has no method. */
export function parsePurchaseCall(method: string, path: string): PurchaseCall | null {
  const action = (ACTION.exec(path)?.[1] ?? 'get') as PurchaseCall['action']
  const [, collection = '', productId, token] = PATH.exec(path.replace(ACTION, '')) ?? []
  if (token === undefined) return null
  const isOfVersion2 = collection.endsWith('v2')
  if (isOfVersion2 !== (productId === undefined)) return null
  if ((action === 'get') !== (method === 'GET')) return null
  if (isOfVersion2 && action !== 'get') return null
  if (collection === 'subscriptions' && action !== 'acknowledge') return null
  return {
    method,
    collection,
    productId: productId === undefined ? null : decodeURIComponent(productId),
    token: decodeURIComponent(token),
    action,
  }
}

/** Answers a call about one purchase. */
export function answerPurchaseCall(
  store: PlayStore,
  call: PurchaseCall,
  body: string,
  now: number,
): Response {
  const found = findPurchase(store, call, now)
  if (found instanceof Response) return found
  if (call.action === 'get') {
    const isOlder = found.kind === 'one_time' && call.collection === 'products'
    return Response.json(isOlder ? found.olderAnswer() : found.answer())
  }
  const accountId = accountIdOf(body)
  if (accountId === null) return googleError({ status: 400, reason: 'invalid' })
  return apply(found, call, accountId)
    ? new Response(null, { status: 204 })
    : googleError({ status: 400, reason: 'productNotOwnedByUser' })
}

function findPurchase(store: PlayStore, call: PurchaseCall, now: number): FakePurchase | Response {
  const { token, collection, productId } = call
  if (token.length < MIN_TOKEN_LENGTH) return googleError({ status: 400, reason: 'invalid' })
  const kind = collection.startsWith('subscriptions') ? 'subscription' : 'one_time'
  const found = store.purchases.find((one) => one.token === token && one.kind === kind)
  if (!found) return googleError({ status: 404, reason: 'purchaseTokenNotFound' })
  if (now >= found.goneAt()) {
    return googleError({ status: 410, reason: 'purchaseTokenNoLongerValid' })
  }
  if (found.kind === 'one_time' && productId !== null && productId !== found.product) {
    return googleError({ status: 400, reason: 'purchaseTokenDoesNotMatchProductId' })
  }
  return found
}

function apply(found: FakePurchase, { action }: PurchaseCall, accountId: string | undefined) {
  if (found.kind === 'subscription') return found.acknowledge(accountId)
  return action === 'consume' ? found.consume() : found.acknowledge()
}

/** The account id that an acknowledgement sets, undefined without one; null if the body is invalid. */
function accountIdOf(body: string): string | null | undefined {
  if (body === '') return undefined
  try {
    const { externalAccountIds } = JSON.parse(body) as {
      externalAccountIds?: { obfuscatedAccountId?: string }
    }
    return externalAccountIds?.obfuscatedAccountId
  } catch {
    return null
  }
}
