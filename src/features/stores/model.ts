import { type Static, type TSchema, t } from 'elysia'
import { LARGE_JSON_LIMIT } from '../../platform/http/body/body.ts'
import {
  closedObject,
  createUnionModel,
  flag,
  literalUnion,
  nullable,
  openEnum,
  text,
  time,
} from '../../platform/http/replies/envelope.ts'
import { ENVIRONMENTS } from '../billing/environment.ts'
import { STRIPE_PATH } from './stripe/model.ts'

export const APP_STORE_PATH = '/api/webhooks/app-store/v1'

/** The body that Pub/Sub posts. Google may add fields. */
export const PlayPush = t.Object(
  {
    message: t.Object(
      {
        data: text('the notification: JSON in base64', 'eyJ2ZXJzaW9uIjoiMS4wIn0='),
        messageId: text('the id of the message', '136969346945'),
      },
      { additionalProperties: true, description: 'the message' },
    ),
    subscription: t.Optional(
      text('the Pub/Sub subscription', 'projects/my-project/subscriptions/homeport'),
    ),
  },
  {
    additionalProperties: true,
    title: 'PlayPush',
    description: 'a Real-time developer notification from Google Play, pushed by Pub/Sub',
  },
)

/** The body that Apple posts. Apple may add fields. */
export const AppStoreNotification = t.Object(
  {
    signedPayload: t.String({
      description: 'the notification, signed by the App Store (JWS)',
      examples: ['eyJhbGciOiJFUzI1NiIsIng1YyI6W119.e30.AA'],
    }),
  },
  {
    additionalProperties: true,
    title: 'AppStoreNotification',
    description: 'an App Store Server Notification, version 2',
  },
)

export const PLAY_PATH = '/api/webhooks/play/v1'
export const storePlainPaths = [APP_STORE_PATH, PLAY_PATH, STRIPE_PATH]

export const PURCHASES_PATH = '/api/user/purchases/v1'
/** Signed transactions have about 6 kB each. */
export const PURCHASES_LIMIT = LARGE_JSON_LIMIT

const signedTransaction = t.String({
  maxLength: 32 * 1024,
  description: 'the transaction as StoreKit signed it (`jwsRepresentation`)',
  examples: ['eyJhbGciOiJFUzI1NiIsIng1YyI6W119.e30.AA'],
})

const playStoreFields = {
  packageName: text('the package name of the app', 'com.example.app', { maxLength: 255 }),
  purchaseToken: text(
    'the purchase token that Play Billing gave the app',
    'kbbhepmeplbgoahabclnimji.AO-J1Ow',
    { minLength: 1, maxLength: 2_000 },
  ),
  productId: t.Optional(text('the product', 'coins', { maxLength: 255 })),
  kind: t.Optional(
    literalUnion(['subscription', 'one_time'], {
      description: 'whether it is a subscription or a one-time product',
    }),
  ),
}

export const AppStorePurchase = closedObject(
  { store: storeName('app_store'), signedTransaction },
  'AppStorePurchase',
  'a purchase in the App Store',
)

export const PlayStorePurchase = closedObject(
  { store: storeName('play_store'), ...playStoreFields },
  'PlayStorePurchase',
  'a purchase on Google Play',
)

const sessionId = t.String({
  pattern: '^cs_(live|test)_[A-Za-z0-9]{1,250}$',
  description: 'the id of the checkout session, from the address to which the user returned',
  examples: ['cs_test_a1b2c3'],
})

export const StripePurchase = closedObject(
  { store: storeName('stripe'), sessionId },
  'StripePurchase',
  'a purchase by card',
)

const SubmittedPurchase = createUnionModel(
  'store',
  { app_store: AppStorePurchase, play_store: PlayStorePurchase, stripe: StripePurchase },
  {
    title: 'SubmittedPurchase',
    description: 'a purchase that a store has confirmed to the app',
    simple: closedObject(
      {
        store: literalUnion(['app_store', 'play_store', 'stripe'], { description: 'the store' }),
        signedTransaction: t.Optional(signedTransaction),
        ...t.Partial(t.Object(playStoreFields)).properties,
        sessionId: t.Optional(sessionId),
      },
      'SubmittedPurchase',
      'with `signedTransaction` in the App Store; with `packageName` and `purchaseToken` on Google Play; with `sessionId` by card',
    ),
  },
)

function storeName<Store extends string>(store: Store) {
  return t.Literal(store, { description: `the store: \`${store}\``, examples: [store] })
}

export const PurchaseSubmission = closedObject(
  {
    purchases: t.Array(SubmittedPurchase, {
      minItems: 1,
      maxItems: 20,
      description: 'the purchases',
    }),
    takeOver: t.Optional(
      flag('whether to take over purchases that belong to another user; ask the user first', false),
    ),
    environment: t.Optional(
      literalUnion(ENVIRONMENTS, {
        description: 'which purchases `subscription` shows; production by default',
      }),
    ),
  },
  'PurchaseSubmission',
  'purchases of the signed-in user',
)

const REFUSALS = [
  'purchase_of_another',
  'purchase_invalid',
  'purchase_of_other_app',
  'purchase_gone',
  'sandbox_ignored',
  'store_not_set_up',
] as const

const SubmissionResult = closedObject(
  {
    outcome: openEnum(['bound', 'known', 'checking', 'pending', 'refused'], {
      description:
        'the outcome: `bound` and `known` mean that the user has the purchase, newly or already; finish the transaction then. `checking`: the store cannot be queried now; the server keeps trying for three days. `pending`: the purchase is not paid yet',
    }),
    code: t.Optional(openEnum(REFUSALS, { description: 'why it is refused' })),
    canTakeOverAt: t.Optional(
      nullable(time('when `takeOver` can first move another user’s purchase; null: never')),
    ),
    transactionId: nullable(text('the id of the transaction at the store', '2')),
    environment: nullable(openEnum(ENVIRONMENTS, { description: 'production or test purchases' })),
    productId: nullable(text('the product at the store', 'prod_example_pro')),
    expiresAt: nullable(time('when the period of the transaction ends; null: never, or unknown')),
  },
  'PurchaseResult',
  'the result for a submitted purchase',
)
export type Refusal = (typeof REFUSALS)[number]
type ResultFields = Static<typeof SubmissionResult>
export type SubmissionResult = Omit<ResultFields, 'outcome' | 'code'> &
  ({ outcome: 'bound' | 'known' | 'checking' | 'pending' } | { outcome: 'refused'; code: Refusal })

/** A refusal of a purchase about which nothing else is known. */
export function refusal(code: Refusal) {
  return {
    outcome: 'refused' as const,
    code,
    environment: null,
    transactionId: null,
    productId: null,
    expiresAt: null,
  }
}

export function createSubmissionReply<Subscription extends TSchema>(Subscription: Subscription) {
  return closedObject(
    {
      results: t.Array(SubmissionResult, { description: 'one result per purchase, in order' }),
      subscription: Subscription,
    },
    'SubmittedPurchases',
    'the results, and what the user has paid for now',
  )
}
