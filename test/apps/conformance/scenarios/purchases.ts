import type { Scenario, Step } from '../types.ts'
import { BOB, MINUTE, SIGN_IN, USERS } from './common.ts'

const SUBMIT = 'POST /api/user/purchases/v1'
const PURCHASE = { store: 'app_store', signedTransaction: '$token' }
const GOOGLE_PURCHASE = { store: 'play_store', packageName: 'com.example', purchaseToken: 'forged' }
const ISSUE: Step = { server: 'issuePurchase', save: 'token' }

export const PURCHASE_SCENARIOS: Scenario[] = [
  {
    name: 'purchases: a submission returns a result for each purchase',
    server: USERS,
    steps: [
      ...SIGN_IN,
      ISSUE,
      {
        call: 'submitPurchases',
        with: {
          purchases: [PURCHASE, GOOGLE_PURCHASE],
        },
        gives: {
          results: [
            { outcome: 'bound', productId: 'pro_month', expiresAt: '2026-03-31T12:00:00.000Z' },
            { outcome: 'refused', code: 'purchase_invalid', expiresAt: null },
          ],
          subscription: { entitlements: [{ id: 'pro', active: true }] },
        },
      },
      {
        call: 'submitPurchases',
        with: { purchases: [PURCHASE] },
        gives: { results: [{ outcome: 'known' }] },
      },
      { counts: { [SUBMIT]: 2 } },
    ],
  },
  {
    name: 'purchases: another user’s purchase is taken over only if the app requests it',
    server: USERS,
    steps: [
      ...SIGN_IN,
      ISSUE,
      { call: 'submitPurchases', with: { purchases: [PURCHASE] } },
      { call: 'login', with: BOB },
      {
        call: 'submitPurchases',
        with: { purchases: [PURCHASE] },
        gives: { results: [{ outcome: 'refused', code: 'purchase_of_another' }] },
      },
      { advance: 24 * 60 * MINUTE },
      {
        call: 'submitPurchases',
        with: { purchases: [PURCHASE], takeOver: true, environment: 'production' },
        gives: { results: [{ outcome: 'bound' }] },
      },
    ],
  },
  {
    name: 'purchases: buying by card opens the checkout, and the portal',
    server: { ...USERS, plans: [{ code: 'pro', source: 'stripe' }] },
    steps: [
      ...SIGN_IN,
      {
        call: 'startCheckout',
        with: { plan: 'pro', successUrl: 'https://a.example/done', cancelUrl: 'https://a.example' },
        gives: { url: { $matches: '^http' }, expiresAt: '2026-03-01T13:00:00.000Z' },
        save: 'checkout',
      },
      {
        call: 'submitPurchases',
        with: { purchases: [{ store: 'stripe', sessionId: '$checkout.sessionId' }] },
        gives: { results: [{ outcome: 'bound' }] },
      },
      {
        call: 'createPortalLink',
        with: { returnUrl: 'https://a.example' },
        gives: { url: { $matches: '/portal$' } },
      },
    ],
  },
]
