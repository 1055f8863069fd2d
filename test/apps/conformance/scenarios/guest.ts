import type { Scenario, Step } from '../types.ts'
import {
  ANN,
  BOB,
  EXPIRE,
  GUEST,
  LOGIN,
  PASSWORD,
  PROFILE,
  REFRESH,
  REGISTER,
  SESSION,
  SIGN_IN,
  USERS,
} from './common.ts'

const CAROL = { email: 'carol@example.com', password: PASSWORD }

/** A guest, whose session is `$guest`. */
const START: Step[] = [{ call: 'startAsGuest', save: 'guest' }, { sent: 'any' }]
const QUEUE = 'homeport.purchases'
const PURCHASE = { store: 'app_store', signedTransaction: '$token' }
/** A purchase that cannot be submitted until `repair`. */
const QUEUE_OFFLINE: Step[] = [
  { server: 'issuePurchase', save: 'token' },
  { fault: { target: 'submitPurchases', network: 'cut', times: 'forever' } },
  { call: 'queuePurchase', with: { purchase: PURCHASE } },
]
const BOUND: Step = {
  event: { event: 'purchaseResult', purchase: PURCHASE, result: { outcome: 'bound' } },
}
const AS_GUEST = { authorization: 'Bearer $guest.accessToken' }

export const GUEST_SCENARIOS: Scenario[] = [
  {
    name: 'guest: two concurrent calls start one guest, who continues after a restart',
    steps: [
      { fault: { target: 'startAsGuest', hold: 'guest' } },
      { start: 'a', call: 'startAsGuest' },
      { start: 'b', call: 'startAsGuest' },
      { holding: 'guest' },
      { release: 'guest' },
      { wait: 'a', gives: { user: { loginType: 'guest' } }, save: 'guest' },
      { wait: 'b', gives: { user: { _id: '$guest.user._id' } } },
      { sent: [{ request: GUEST, headers: { authorization: null } }] },
      { stored: SESSION, is: { isGuest: true, userId: '$guest.user._id' } },
      { restart: true },
      {
        call: 'startAsGuest',
        gives: {
          user: { _id: '$guest.user._id' },
          accessToken: '$guest.accessToken',
          tokenType: 'Bearer',
          expiresIn: 900,
        },
      },
      { sent: [PROFILE] },
    ],
  },
  {
    name: 'guest: continues after the access token has expired',
    steps: [
      ...START,
      EXPIRE,
      { call: 'startAsGuest', gives: { user: { _id: '$guest.user._id' }, expiresIn: 900 } },
      { sent: [REFRESH, PROFILE] },
    ],
  },
  {
    name: 'guest: becomes the registered account, with the same id',
    steps: [
      ...START,
      { call: 'register', with: ANN, gives: { user: { _id: '$guest.user._id' } } },
      {
        sent: [
          { request: PROFILE, headers: AS_GUEST },
          { request: REGISTER, headers: AS_GUEST },
        ],
      },
      { stored: SESSION, is: { isGuest: false, userId: '$guest.user._id' } },
    ],
  },
  {
    name: 'guest: is taken over by the account that signs in',
    server: USERS,
    steps: [
      ...START,
      { server: 'grantSubscription', args: ['$guest.user._id', { entitlement: 'pro' }] },
      { call: 'login', with: ANN, gives: { user: { email: ANN.email } } },
      { sent: [PROFILE, { request: LOGIN, headers: AS_GUEST }] },
      { call: 'readSubscription', gives: { entitlements: [{ id: 'pro', active: true }] } },
      { server: 'listEmails', gives: { $length: 2 } },
    ],
  },
  {
    name: 'guest: is taken over by an account with two-factor',
    server: { users: [{ ...ANN, twoFactor: true }] },
    steps: [
      ...START,
      { server: 'grantSubscription', args: ['$guest.user._id', { entitlement: 'pro' }] },
      { call: 'login', with: ANN, save: 'challenge' },
      { stored: SESSION, is: { isGuest: true } },
      { server: 'twoFactorCode', save: 'code' },
      {
        call: 'passTwoFactor',
        with: { challengeToken: '$challenge.challengeToken', code: '$code' },
        gives: { user: { email: ANN.email } },
      },
      { call: 'readSubscription', gives: { entitlements: [{ id: 'pro', active: true }] } },
    ],
  },
  {
    name: 'guest: a queued purchase follows to the account that signs in, and to no other one',
    server: USERS,
    steps: [
      ...START,
      ...QUEUE_OFFLINE,
      { call: 'login', with: ANN, save: 'ann' },
      { stored: QUEUE, is: { others: [{ userId: '$ann.user._id', purchases: [PURCHASE] }] } },
      { call: 'login', with: BOB },
      { repair: true },
      { restart: true },
      { listen: 'purchaseResult' },
      { noEvent: 'purchaseResult' },
      { call: 'login', with: ANN },
      BOUND,
      { call: 'readSubscription', gives: { entitlements: [{ id: 'pro', active: true }] } },
    ],
  },
  {
    name: 'guest: a queued purchase follows after two-factor, also if the app ends at the sign-in',
    server: { users: [{ ...ANN, twoFactor: true }] },
    steps: [
      ...START,
      ...QUEUE_OFFLINE,
      { call: 'login', with: ANN, save: 'challenge' },
      { server: 'twoFactorCode', save: 'code' },
      { dieAtWrite: { key: SESSION, when: 'after' } },
      {
        start: 'a',
        call: 'passTwoFactor',
        with: { challengeToken: '$challenge.challengeToken', code: '$code' },
      },
      { dies: true },
      EXPIRE,
      { repair: true },
      { restart: true },
      { listen: 'purchaseResult' },
      BOUND,
      { call: 'readSubscription', gives: { entitlements: [{ id: 'pro', active: true }] } },
    ],
  },
  {
    name: 'guest: an account does not take over the data of a signed-in user',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { call: 'login', with: { email: 'bob@example.com', password: PASSWORD } },
      { sent: [{ request: LOGIN, headers: { authorization: null } }] },
      { call: 'readProfile', gives: { email: 'bob@example.com' } },
    ],
  },
  {
    name: 'guest: a proxy that removes the token does not create a second account',
    steps: [
      ...START,
      { fault: { target: '*', withoutToken: true, times: 'forever' } },
      { call: 'register', with: CAROL, fails: { code: 'unauthenticated', status: 401 } },
      { sent: [PROFILE, REFRESH, PROFILE] },
      { repair: true },
      { call: 'register', with: CAROL, gives: { user: { _id: '$guest.user._id' } } },
      { server: 'listEmails', gives: [CAROL.email] },
    ],
  },
  {
    name: 'guest: a proxy that removes the token from the registration leaves the guest signed in',
    steps: [
      ...START,
      { fault: { target: 'register', withoutToken: true } },
      { call: 'register', with: CAROL, fails: { code: 'token_lost', status: 0 } },
      { stored: SESSION, is: { userId: '$guest.user._id', isGuest: true } },
      { call: 'readProfile', gives: { _id: '$guest.user._id' } },
    ],
  },
  {
    name: 'guest: learns that the session has ended before an account is created',
    steps: [
      ...START,
      { server: 'endSessions' },
      { call: 'register', with: CAROL, fails: { code: 'session_ended', status: 401 } },
      { sent: [PROFILE, REFRESH] },
      { event: { event: 'signedOut' } },
      { call: 'register', with: CAROL, gives: { user: { _id: { $not: '$guest.user._id' } } } },
      { sent: [{ request: REGISTER, headers: { authorization: null } }] },
    ],
  },
  {
    name: 'guest: a new guest starts when the session of the last one has ended',
    steps: [
      ...START,
      { server: 'endSessions' },
      { call: 'startAsGuest', gives: { user: { _id: { $not: '$guest.user._id' } } } },
      { sent: [PROFILE, REFRESH, GUEST] },
    ],
  },
  {
    name: 'guest: no guest starts while a user is signed in',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { call: 'startAsGuest', fails: { code: 'conflict', status: 0 } },
      { call: 'readProfile', gives: { email: ANN.email } },
    ],
  },
  {
    name: 'guest: does not replace a user who has signed in since',
    server: USERS,
    steps: [
      { fault: { target: 'startAsGuest', hold: 'guest' } },
      { start: 'guest', call: 'startAsGuest' },
      { holding: 'guest' },
      { call: 'login', with: ANN },
      { release: 'guest' },
      { wait: 'guest', fails: { code: 'conflict', status: 0 } },
      { call: 'readProfile', gives: { email: ANN.email } },
    ],
  },
  {
    name: 'guest: the session does not end while the reply to a sign-in is on its way',
    steps: [
      ...START,
      { listen: 'authChange' },
      { fault: { target: 'register', hold: 'reply' } },
      { start: 'register', call: 'register', with: ANN },
      { holding: 'reply' },
      { start: 'profile', call: 'readProfile' },
      { counts: { [PROFILE]: 2, [REGISTER]: 1, [REFRESH]: 1 } },
      { release: 'reply' },
      { wait: 'register', gives: { user: { _id: '$guest.user._id' } } },
      { event: { event: 'authChange', reason: 'signed_in', userId: '$guest.user._id' } },
      { noEvent: 'authChange' },
      { noEvent: 'signedOut' },
      { call: 'readProfile', gives: { email: ANN.email } },
    ],
  },
]
