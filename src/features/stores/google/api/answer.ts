import { type Json, toObject } from '../../../../lib/text/json.ts'
import type { StoredEnvironment } from '../../../billing/environment.ts'
import { countryCode, type Money, money, readAppUserId } from '../../../billing/inbox/event.ts'
import { text, time, token, toList } from '../../json.ts'
import { PlayApiError } from './api-error.ts'

export type PurchaseKind = 'subscription' | 'one_time'

/** The states of subscriptions, and `PURCHASED` and `CANCELLED` of one-time products. */
const STATES = [
  'PENDING',
  'ACTIVE',
  'PAUSED',
  'IN_GRACE_PERIOD',
  'ON_HOLD',
  'CANCELED',
  'EXPIRED',
  'PENDING_PURCHASE_CANCELED',
  'PURCHASED',
  'CANCELLED',
] as const
export type PlayState = (typeof STATES)[number]

/** One product of a purchase. Times in ms. */
export type PlayItem = {
  /** With the base plan, as in `pro:monthly`. */
  productId: string
  /** Null until the item is paid for. */
  orderId: string | null
  /** The end of the period or of its grace period; null for a one-time product. */
  endsAt: number | null
  willRenew: boolean
  /** The product that replaces this one with the next period. */
  nextProductId: string | null
  periodType: 'NORMAL' | 'TRIAL' | 'INTRO' | 'PREPAID' | 'CONSUMABLE'
  /** In US dollars. */
  price: number | null
  /** What the period cost; null if Google does not state it. */
  paid: Money | null
  quantity: number
}

/** Google's response about a purchase. Times in ms. */
export type PlayAnswer = {
  kind: PurchaseKind
  state: PlayState
  environment: StoredEnvironment
  isAcknowledged: boolean
  /** Null while it is not paid. */
  startedAt: number | null
  /** The account id that the app passed at this purchase, or at the one that it renews. */
  userId: string | null
  /** Whether the purchase was made in Google Play, without the app. */
  isOutOfApp: boolean
  /** The token of the purchase that this one replaces. */
  linkedToken: string | null
  cancelReason: string | null
  cancelledAt: number | null
  autoResumeAt: number | null
  /** As two letters. */
  country: string | null
  items: PlayItem[]
}

const CANCEL_REASONS: Record<string, string> = {
  userInitiatedCancellation: 'UNSUBSCRIBE',
  systemInitiatedCancellation: 'BILLING_ERROR',
  developerInitiatedCancellation: 'DEVELOPER_INITIATED',
  replacementCancellation: 'UNSUBSCRIBE',
}

/** Throws `PlayApiError` for a response without a known state or without items. */
export function parseReply(kind: PurchaseKind, reply: Json): PlayAnswer {
  const answer = kind === 'subscription' ? parseSubscription(reply) : parseProduct(reply)
  if (answer.items.length === 0) throw new PlayApiError('unreadable')
  return answer
}

/** https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2 */
function parseSubscription(reply: Json): PlayAnswer {
  const own = toObject(reply['externalAccountIdentifiers'])
  const outOfApp = toObject(reply['outOfAppPurchaseContext'])
  const expired = toObject(outOfApp['expiredExternalAccountIdentifiers'])
  const canceled = toObject(reply['canceledStateContext'])
  const [how = ''] = Object.keys(canceled)
  return {
    kind: 'subscription',
    state: parseState(reply['subscriptionState'], 'SUBSCRIPTION_STATE_'),
    environment: reply['testPurchase'] === undefined ? 'PRODUCTION' : 'SANDBOX',
    isAcknowledged: reply['acknowledgementState'] !== 'ACKNOWLEDGEMENT_STATE_PENDING',
    startedAt: time(reply['startTime']),
    userId:
      readAppUserId(own['obfuscatedExternalAccountId']) ??
      readAppUserId(expired['obfuscatedExternalAccountId']),
    isOutOfApp: reply['outOfAppPurchaseContext'] !== undefined,
    linkedToken: token(outOfApp['expiredPurchaseToken']) ?? token(reply['linkedPurchaseToken']),
    cancelReason: CANCEL_REASONS[how] ?? null,
    cancelledAt: time(toObject(canceled[how])['cancelTime']),
    autoResumeAt: time(toObject(reply['pausedStateContext'])['autoResumeTime']),
    country: countryCode(reply['regionCode']),
    items: parseItems(toList(reply['lineItems'])),
  }
}

function parseItems(lineItems: Json[]): PlayItem[] {
  const ids = lineItems.map((item) => {
    const basePlan = text(toObject(item['offerDetails'])['basePlanId'])
    return [text(item['productId']), basePlan].filter((part) => part !== null).join(':')
  })
  return lineItems.flatMap((item, at) => {
    const plan = toObject(item['autoRenewingPlan'])
    const next = text(toObject(item['deferredItemReplacement'])['productId'])
    const productId = ids[at]
    if (!productId) return []
    const periodType = toPeriodType(item)
    const price = toObject(plan['recurringPrice'])
    return {
      productId,
      orderId: text(item['latestSuccessfulOrderId']),
      endsAt: time(item['expiryTime']),
      willRenew: plan['autoRenewEnabled'] === true,
      // The base plan may change within a product.
      nextProductId:
        ids.find((id, other) => other !== at && (id === next || id.startsWith(`${next}:`))) ?? next,
      periodType,
      price: price['currencyCode'] === 'USD' ? parseUnits(price) : null,
      // The price of an introductory or prorated period is not in the response.
      paid:
        periodType === 'NORMAL' && !isProrated(item)
          ? money(price['currencyCode'], parseUnits(price))
          : null,
      quantity: 1,
    }
  })
}

function isProrated({ offerPhase }: Json): boolean {
  return toObject(offerPhase)['prorationPeriod'] !== undefined
}

function toPeriodType({ prepaidPlan, offerPhase }: Json): PlayItem['periodType'] {
  if (prepaidPlan !== undefined) return 'PREPAID'
  const phase = toObject(offerPhase)
  if (phase['freeTrial'] !== undefined) return 'TRIAL'
  return phase['introductoryPrice'] === undefined ? 'NORMAL' : 'INTRO'
}

/** A price in its currency. `units` is a whole number as text; `nanos` are billionths. */
function parseUnits({ units, nanos }: Json): number {
  return Number(units ?? 0) + Number(nanos ?? 0) / 1e9
}

/** https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.productsv2 */
function parseProduct(reply: Json): PlayAnswer {
  const items = toList(reply['productLineItem'])
  return {
    kind: 'one_time',
    state: parseState(toObject(reply['purchaseStateContext'])['purchaseState'], ''),
    environment: reply['testPurchaseContext'] === undefined ? 'PRODUCTION' : 'SANDBOX',
    isAcknowledged: reply['acknowledgementState'] !== 'ACKNOWLEDGEMENT_STATE_PENDING',
    startedAt: time(reply['purchaseCompletionTime']),
    userId: readAppUserId(reply['obfuscatedExternalAccountId']),
    isOutOfApp: false,
    linkedToken: null,
    cancelReason: null,
    cancelledAt: null,
    autoResumeAt: null,
    country: countryCode(reply['regionCode']),
    items: items.flatMap((item) => {
      const productId = text(item['productId'])
      const offer = toObject(item['productOfferDetails'])
      if (productId === null) return []
      return {
        productId,
        orderId: text(reply['orderId']),
        endsAt: null,
        willRenew: false,
        nextProductId: null,
        periodType: productPeriodType(offer),
        price: null,
        paid: null,
        quantity: Number(offer['quantity'] ?? 1),
      }
    }),
  }
}

function productPeriodType({ consumptionState, rentOfferDetails }: Json): PlayItem['periodType'] {
  if (consumptionState === 'CONSUMPTION_STATE_CONSUMED') return 'CONSUMABLE'
  // Google does not say when a rental ends: the plan's duration decides.
  return rentOfferDetails === undefined ? 'NORMAL' : 'PREPAID'
}

function parseState(value: unknown, prefix: string): PlayState {
  const name = typeof value === 'string' ? value.replace(prefix, '') : ''
  const state = STATES.find((one) => one === name)
  if (state === undefined) throw new PlayApiError('unreadable')
  return state
}

/** Converts a response from the older call `products` to the format of `productsv2`. */
export function convertToProductsV2(reply: Json, productId: string): Json {
  const { purchaseState, acknowledgementState, consumptionState, purchaseType } = reply
  return {
    purchaseStateContext: {
      purchaseState: ['PURCHASED', 'CANCELLED', 'PENDING'][Number(purchaseState ?? 0)],
    },
    purchaseCompletionTime: reply['purchaseTimeMillis'],
    orderId: reply['orderId'],
    acknowledgementState: `ACKNOWLEDGEMENT_STATE_${acknowledgementState === 1 ? 'ACKNOWLEDGED' : 'PENDING'}`,
    obfuscatedExternalAccountId: reply['obfuscatedExternalAccountId'],
    regionCode: reply['regionCode'],
    ...(purchaseType === 0 ? { testPurchaseContext: { fopType: 'TEST' } } : {}),
    productLineItem: [
      {
        productId: reply['productId'] ?? productId,
        productOfferDetails: {
          quantity: reply['quantity'] ?? 1,
          consumptionState: `CONSUMPTION_STATE_${consumptionState === 1 ? 'CONSUMED' : 'YET_TO_BE_CONSUMED'}`,
        },
      },
    ],
  }
}
