import {
  choice,
  flag,
  integer,
  listKind,
  rotatingSecret,
  setting,
  testUrl,
  text,
  type ValuesOf,
} from '../setting.ts'
import { origin } from '../values.ts'

const LIVE_KEY = text('a live key of Stripe, such as rk_live_…', /^[rs]k_live_\w+$/)
const TEST_KEY = text('a test key of Stripe, such as rk_test_…', /^[rs]k_test_\w+$/)
const SIGNING_SECRETS = rotatingSecret('a secret such as whsec_…')

export const stripeSettings = {
  stripeKey: setting(
    'STRIPE_API_KEY',
    LIVE_KEY,
    'the key with which the server calls Stripe, preferably a restricted one: `rk_live_…`; required to sell by card',
    { page: 'web-checkout.md' },
  ),
  stripeSecrets: setting(
    'STRIPE_WEBHOOK_SECRET',
    SIGNING_SECRETS,
    'the signing secret of Stripe’s webhook; two, separated by a comma, during a rotation',
  ),
  stripeSandboxKey: setting(
    'STRIPE_SANDBOX_API_KEY',
    TEST_KEY,
    'the key of a sandbox at Stripe: `rk_test_…`',
  ),
  stripeSandboxSecrets: setting(
    'STRIPE_SANDBOX_WEBHOOK_SECRET',
    SIGNING_SECRETS,
    'the signing secret of the sandbox’s webhook',
  ),
  checkoutOrigins: setting(
    'CHECKOUT_ORIGINS',
    listKind('origins such as https://app.example.com', (one) => origin(one) === one),
    'the origins to which Stripe’s pages may send customers back',
    { shown: 'the `https` origins in `CORS_ORIGINS`' },
  ),
  stripeGraceDays: setting(
    'STRIPE_GRACE_DAYS',
    integer(0, 62, 14),
    'days of access while Stripe retries a failed payment; the length of its retry schedule',
  ),
  stripeOnUserDeletion: setting(
    'STRIPE_ON_USER_DELETION',
    choice(['delete', 'cancel'], 'delete'),
    'what happens at Stripe when a user is deleted: `delete` removes the customer, `cancel` only ends the subscriptions',
  ),
  stripeTax: setting('STRIPE_TAX', flag(false), 'let Stripe compute taxes'),
  stripePromotionCodes: setting(
    'STRIPE_PROMOTION_CODES',
    flag(false),
    'let customers enter promotion codes',
  ),
  stripePortal: setting(
    'STRIPE_PORTAL_CONFIGURATION',
    text('the id of a portal configuration at Stripe', /^bpc_\w+$/),
    'a configuration of the customer portal other than the default one',
  ),
  stripeApiUrl: testUrl('STRIPE_API_URL', 'purchases are not checked with Stripe'),
}

export type StripeSettings = ValuesOf<typeof stripeSettings>
