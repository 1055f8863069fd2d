import { type Static, type TSchema, t } from 'elysia'
import { closedObject, nullable, oneOf, openEnum, time } from '../../../platform/http/envelope.ts'

export const APP_STORE_PATH = '/api/webhooks/app-store/v1'

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

export const PURCHASES_PATH = '/api/user/purchases/v1'
/** Signed transactions have about 6 kB each. */
export const PURCHASES_LIMIT = 256 * 1024

export const PurchaseSubmission = closedObject(
  {
    purchases: t.Array(
      closedObject(
        {
          store: t.Literal('app_store', {
            description: 'the store: `app_store`',
            examples: ['app_store'],
          }),
          signedTransaction: t.String({
            maxLength: 32 * 1024,
            description: 'the transaction as StoreKit signed it (`jwsRepresentation`)',
            examples: ['eyJhbGciOiJFUzI1NiIsIng1YyI6W119.e30.AA'],
          }),
        },
        'SubmittedPurchase',
        'a purchase that a store has confirmed to the app',
      ),
      { minItems: 1, maxItems: 20, description: 'the purchases' },
    ),
    takeOver: t.Optional(
      t.Boolean({
        description:
          'whether to take over purchases that belong to another user; ask the user first',
        examples: [false],
      }),
    ),
    environment: t.Optional(
      oneOf(['production', 'sandbox'], {
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
  'sandbox_ignored',
  'store_not_set_up',
] as const

const SubmissionResult = closedObject(
  {
    outcome: openEnum(['bound', 'known', 'refused'], {
      description:
        'what became of it: `bound` and `known` mean that the user has it, now or as before; finish the transaction then',
    }),
    code: t.Optional(openEnum(REFUSALS, { description: 'why it is refused' })),
    canTakeOverAt: t.Optional(
      nullable(time('from when `takeOver` can move a purchase of another user; null: never')),
    ),
    transactionId: nullable(
      t.String({ description: 'the id of the transaction at the store', examples: ['2'] }),
    ),
    environment: nullable(
      openEnum(['production', 'sandbox'], { description: 'production or test purchases' }),
    ),
    productId: nullable(
      t.String({ description: 'the product at the store', examples: ['prod_example_pro'] }),
    ),
    expiresAt: nullable(time('when the period of the transaction ends; null: never, or unknown')),
  },
  'PurchaseResult',
  'the result for a submitted purchase',
)
type ResultFields = Static<typeof SubmissionResult>
export type SubmissionResult = Omit<ResultFields, 'outcome' | 'code'> &
  ({ outcome: 'bound' | 'known' } | { outcome: 'refused'; code: (typeof REFUSALS)[number] })

/** The reply to a submission, with the schema of a subscription. */
export function SubmissionReplyOf<Subscription extends TSchema>(Subscription: Subscription) {
  return closedObject(
    {
      results: t.Array(SubmissionResult, { description: 'one result per purchase, in order' }),
      subscription: Subscription,
    },
    'SubmittedPurchases',
    'the results, and what the user has paid for now',
  )
}
