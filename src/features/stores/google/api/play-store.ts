import { type Json, toObject } from '../../../../lib/text/json.ts'
import { text, toList } from '../../json.ts'
import { convertToProductsV2, type PurchaseKind } from './answer.ts'
import type { PlayApi } from './api.ts'
import { PlayApiError } from './api-error.ts'

/** `kind` is tried first. `kind` and `productId` are null until they are known. */
export type PlayPurchase = {
  packageName: string
  purchaseToken: string
  kind: PurchaseKind | null
  productId: string | null
}

/** As the log stores it. */
export type PlayReply = { kind: PurchaseKind; reply: Json }

export type PlayStore = ReturnType<typeof createPlayStore>

/** Google's limit of results in a page. */
const PAGE_SIZE = 1_000

/** Every function throws `PlayApiError`. */
export function createPlayStore(api: PlayApi) {
  return { read, acknowledge, readVoided, checkRefunds, isKeyRefused: api.isKeyRefused }

  /** Tries the other kind too, because apps and notifications may be wrong. */
  async function read(purchase: PlayPurchase, signal?: AbortSignal): Promise<PlayReply> {
    const isProduct = purchase.kind === 'one_time'
    const [first, second] = isProduct
      ? [readProduct, readSubscription]
      : [readSubscription, readProduct]
    try {
      return await first(purchase, signal)
    } catch (error) {
      if (!isUnknown(error)) throw error
      return second(purchase, signal)
    }
  }

  async function readSubscription(purchase: PlayPurchase, signal?: AbortSignal) {
    const path = pathTo(purchase, 'subscriptionsv2')
    const reply = await api.call(path, { signal })
    return { kind: 'subscription' as const, reply: withoutTag(reply) }
  }

  /** `productsv2` is newer than `products`, and not available everywhere. */
  async function readProduct(purchase: PlayPurchase, signal?: AbortSignal) {
    const { productId } = purchase
    const kind = 'one_time' as const
    try {
      return {
        kind,
        reply: withoutTag(await api.call(pathTo(purchase, 'productsv2'), { signal })),
      }
    } catch (error) {
      if (productId === null || !isUnknown(error)) throw error
    }
    const path = pathTo(purchase, `products/${encodeURIComponent(productId)}`)
    return { kind, reply: convertToProductsV2(await api.call(path, { signal }), productId) }
  }

  /**
   * Google refunds an unacknowledged purchase after three days. `userId`: the user to name in later responses, for a
   * purchase made outside the app.
   */
  async function acknowledge(purchase: PlayPurchase, productId: string, userId: string | null) {
    const [bareId = ''] = productId.split(':')
    const collection = purchase.kind === 'one_time' ? 'products' : 'subscriptions'
    const path = pathTo(purchase, `${collection}/${encodeURIComponent(bareId)}`)
    const body = userId === null ? {} : { externalAccountIds: { obfuscatedAccountId: userId } }
    await api.call(`${path}:acknowledge`, { body })
  }

  /** Refunds that Google recorded from `from` to `to`, page by page. */
  async function* readVoided(packageName: string, from: Date, to: Date, signal?: AbortSignal) {
    const query = new URLSearchParams({
      startTime: String(from.getTime()),
      endTime: String(to.getTime()),
      type: '1',
      maxResults: String(PAGE_SIZE),
      includeQuantityBasedPartialRefund: 'true',
    })
    for (;;) {
      const path = `${encodeURIComponent(packageName)}/purchases/voidedpurchases?${query}`
      const reply = await api.call(path, { signal })
      yield toList(reply['voidedPurchases'])
      const next = text(toObject(reply['tokenPagination'])['nextPageToken'], 2_000)
      if (next === null) return
      query.set('token', next)
    }
  }

  /** Checks that Google lets the service account see the refunds of an app. */
  async function checkRefunds(packageName: string, now: Date) {
    for await (const _page of readVoided(packageName, now, now)) return
  }
}

function pathTo({ packageName, purchaseToken }: PlayPurchase, collection: string): string {
  const token = encodeURIComponent(purchaseToken)
  return `${encodeURIComponent(packageName)}/purchases/${collection}/tokens/${token}`
}

function isUnknown(error: unknown): boolean {
  return error instanceof PlayApiError && error.reason === 'unknown'
}

/** The tag differs in every response. */
function withoutTag({ etag: _etag, ...reply }: Json): Json {
  return reply
}
