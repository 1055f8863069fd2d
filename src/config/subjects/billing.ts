import { choice, rotatingSecret, setting, text, value } from '../setting.ts'
import { baseUrl } from '../values.ts'
import { EXTERNAL_URL } from './network.ts'

export const billingSettings = {
  webhookTokens: setting(
    'WEBHOOK_TOKEN',
    rotatingSecret('one token'),
    'the billing provider’s token, required for its webhook; two, separated by a comma, during a rotation',
    { page: 'billing.md' },
  ),
  webhookSigningSecret: setting(
    'WEBHOOK_SIGNING_SECRET',
    text('a secret'),
    'when set, the billing provider’s signature is also required',
  ),
  rcApiKey: setting(
    'RC_API_KEY',
    text('a key'),
    'the key of the billing provider’s API, to recover missed events',
  ),
  rcApiUrl: setting(
    'RC_API_URL',
    value(EXTERNAL_URL, baseUrl, 'https://api.revenuecat.com'),
    'another URL of that API',
    { shown: 'RevenueCat’s' },
  ),
  billingSandbox: setting(
    'BILLING_SANDBOX',
    choice(['separate', 'ignore'], 'separate'),
    '`ignore` hides sandbox purchases',
  ),
}
