import type { Scenario, Step } from '../types.ts'
import {
  ANN,
  BOB,
  HOUR,
  LOGIN,
  LOGOUT,
  MINUTE,
  OFFLINE,
  SIGN_IN,
  SUBSCRIPTION,
  USERS,
} from './common.ts'

const SUBMIT = 'POST /api/user/purchases/v1'
const QUEUE = 'homeport.purchases'
const PURCHASE = { store: 'app_store', signedTransaction: '$token' }

const ISSUE: Step = { server: 'issuePurchase', save: 'token' }
const LISTEN: Step = { listen: 'purchaseResult' }
const QUEUED: Step = { call: 'queuePurchase', with: { purchase: PURCHASE } }
const BOUND: Step = {
  event: {
    event: 'purchaseResult',
    purchase: PURCHASE,
    result: { outcome: 'bound', productId: 'pro_month' },
  },
}
const SENT: Step = { sent: [{ request: SUBMIT, body: { purchases: [PURCHASE] } }] }
const EMPTY: Step = { stored: QUEUE, is: { purchases: { $length: 0 } } }

function queue(signedTransaction: string): Step {
  return { call: 'queuePurchase', with: { purchase: { store: 'app_store', signedTransaction } } }
}

function replies(outcome: string, code?: string): Step {
  const result = {
    outcome,
    code,
    transactionId: '1',
    environment: null,
    productId: null,
    expiresAt: null,
  }
  const response = { results: [result], subscription: { entitlements: [] } }
  return { fault: { target: 'submitPurchases', reply: { body: { code: 'ok', response } } } }
}

export const QUEUE_SCENARIOS: Scenario[] = [
  {
    name: 'queue: a purchase is stored, submitted, reported and removed',
    server: USERS,
    steps: [
      ...SIGN_IN,
      LISTEN,
      ISSUE,
      { fault: { target: 'submitPurchases', hold: 'reply', before: true } },
      QUEUED,
      { holding: 'reply' },
      { stored: QUEUE, is: { userId: '$session.user._id', purchases: [PURCHASE] } },
      { noEvent: 'purchaseResult' },
      { release: 'reply' },
      BOUND,
      SENT,
      EMPTY,
      { call: 'readSubscription', gives: { entitlements: [{ id: 'pro', active: true }] } },
    ],
  },
  {
    name: 'queue: needs a signed-in user',
    steps: [
      {
        call: 'queuePurchase',
        with: { purchase: { store: 'app_store', signedTransaction: 'x' } },
        fails: { code: 'unauthenticated', status: 401 },
      },
      { sent: [] },
      { stored: QUEUE, is: null },
    ],
  },
  {
    name: 'queue: failed submissions are retried with growing delays',
    server: USERS,
    steps: [
      ...SIGN_IN,
      LISTEN,
      ISSUE,
      { fault: { target: 'submitPurchases', network: 'cut' } },
      { fault: { target: 'submitPurchases', code: 'internal_error', status: 500 } },
      { fault: { target: 'submitPurchases', html: 403 } },
      { fault: { target: 'submitPurchases', code: 'rate_limited', retryAfter: 45 } },
      { fault: { target: 'submitPurchases', html: 401 } },
      { fault: { target: 'submitPurchases', network: 'lost' } },
      QUEUED,
      { timer: 2_000 },
      { timer: 4_000 },
      { timer: 8_000 },
      { timer: 45_000 },
      { timer: 16_000 },
      { timer: 32_000 },
      { event: { event: 'purchaseResult', result: { outcome: 'known' } } },
      { counts: { [SUBMIT]: 7 } },
      EMPTY,
    ],
  },
  {
    name: 'queue: waits at most an hour, whatever Retry-After says',
    server: USERS,
    steps: [
      ...SIGN_IN,
      LISTEN,
      ISSUE,
      { fault: { target: 'submitPurchases', code: 'rate_limited', retryAfter: 60 * 86_400 } },
      QUEUED,
      { timer: HOUR },
      BOUND,
      EMPTY,
    ],
  },
  {
    name: 'queue: survives the end of the process',
    server: USERS,
    steps: [
      ...SIGN_IN,
      ISSUE,
      { dieAtWrite: { key: QUEUE, when: 'after' } },
      { start: 'a', ...QUEUED } as Step,
      { dies: true },
      { stored: QUEUE, is: { purchases: [PURCHASE] } },
      { sent: [] },
      { restart: true },
      LISTEN,
      BOUND,
      SENT,
      EMPTY,
    ],
  },
  {
    name: 'queue: a refused purchase is reported and removed',
    server: USERS,
    steps: [
      ...SIGN_IN,
      LISTEN,
      queue('forged'),
      {
        event: {
          event: 'purchaseResult',
          purchase: { signedTransaction: 'forged' },
          result: { outcome: 'refused', code: 'purchase_invalid' },
        },
      },
      EMPTY,
      ISSUE,
      { fault: { target: 'submitPurchases', code: 'validation_failed' } },
      QUEUED,
      { event: { event: 'purchaseResult', result: { outcome: 'refused' } } },
      EMPTY,
      { counts: { [SUBMIT]: 2 } },
    ],
  },
  {
    name: 'queue: an undecided purchase is submitted again after 1, 2 and 4 minutes',
    server: USERS,
    steps: [
      ...SIGN_IN,
      LISTEN,
      ISSUE,
      replies('checking'),
      replies('pending'),
      replies('checking'),
      QUEUED,
      { timer: MINUTE },
      { timer: 2 * MINUTE },
      { noEvent: 'purchaseResult' },
      { stored: QUEUE, is: { purchases: [PURCHASE] } },
      { timer: 4 * MINUTE },
      BOUND,
      { counts: { [SUBMIT]: 4 } },
      EMPTY,
    ],
  },
  {
    name: 'queue: a purchase that Google does not know is submitted again for ten minutes',
    server: USERS,
    steps: [
      ...SIGN_IN,
      LISTEN,
      ...Array<Step>(5).fill(replies('refused', 'purchase_gone')),
      {
        call: 'queuePurchase',
        with: {
          purchase: { store: 'play_store', packageName: 'com.example', purchaseToken: 'new' },
        },
      },
      { timer: MINUTE },
      { timer: 2 * MINUTE },
      { timer: 4 * MINUTE },
      { noEvent: 'purchaseResult' },
      { timer: 8 * MINUTE },
      {
        event: {
          event: 'purchaseResult',
          purchase: { purchaseToken: 'new' },
          result: { outcome: 'refused', code: 'purchase_gone' },
        },
      },
      EMPTY,
    ],
  },
  {
    name: 'queue: another user’s purchases wait for that user',
    server: USERS,
    steps: [
      ...SIGN_IN,
      LISTEN,
      ISSUE,
      OFFLINE,
      QUEUED,
      { timer: 2_000 },
      { counts: { [SUBMIT]: 2 } },
      { call: 'logout' },
      { repair: true },
      { call: 'login', with: BOB, save: 'bob' },
      { advance: 5 * MINUTE },
      { sent: [LOGOUT, LOGIN] },
      { server: 'issuePurchase', save: 'other' },
      queue('$other'),
      {
        event: {
          event: 'purchaseResult',
          purchase: { signedTransaction: '$other' },
          result: { outcome: 'bound' },
        },
      },
      { sent: [{ request: SUBMIT, headers: { authorization: 'Bearer $bob.accessToken' } }] },
      { call: 'logout' },
      { call: 'login', with: ANN },
      BOUND,
      { sent: [LOGOUT, LOGIN, SUBMIT] },
    ],
  },
  {
    name: 'queue: the remaining purchases are not submitted as a user who has signed in since',
    server: USERS,
    steps: [
      ...SIGN_IN,
      LISTEN,
      ISSUE,
      { server: 'issuePurchase', args: [{ productId: 'pro_year' }], save: 'second' },
      { fault: { target: 'submitPurchases', network: 'cut' } },
      { fault: { target: 'submitPurchases', hold: 'reply' } },
      QUEUED,
      { sent: [SUBMIT] },
      queue('$second'),
      { holding: 'reply' },
      { fault: { target: 'logout', network: 'cut' } },
      { call: 'logout' },
      { call: 'login', with: BOB },
      { release: 'reply' },
      BOUND,
      { call: 'readSubscription', gives: { entitlements: [] } },
      { call: 'login', with: ANN, save: 'ann' },
      {
        event: {
          event: 'purchaseResult',
          purchase: { signedTransaction: '$second' },
          result: { outcome: 'bound', productId: 'pro_year' },
        },
      },
      {
        sent: [
          SUBMIT,
          LOGOUT,
          LOGIN,
          SUBSCRIPTION,
          LOGIN,
          { request: SUBMIT, headers: { authorization: 'Bearer $ann.accessToken' } },
        ],
      },
      EMPTY,
    ],
  },
  {
    name: 'queue: waits for the next sign-in if the session ends',
    server: USERS,
    steps: [
      ...SIGN_IN,
      LISTEN,
      ISSUE,
      { server: 'endSessions' },
      QUEUED,
      { event: { event: 'signedOut' } },
      { stored: QUEUE, is: { purchases: [PURCHASE] } },
      { call: 'login', with: ANN },
      BOUND,
      EMPTY,
    ],
  },
]
