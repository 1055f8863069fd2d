import type { Scenario, Step } from '../types.ts'
import {
  ANN,
  BOB,
  DAY,
  HOUR,
  KEPT,
  OFFLINE,
  PROFILE,
  SIGN_IN,
  SUBSCRIPTION,
  USERS,
} from './common.ts'

const ACTIVE = { entitlements: [{ id: 'pro', active: true }], plan: { code: 'pro' } }
const ENDED = { entitlements: [{ id: 'pro', active: false }], plan: null }

function readsKept(data: object, isStale = true): Step {
  return { call: 'readKept', with: { name: 'subscription' }, gives: { data, isStale } }
}

/** Nothing is kept, so the client waits for a server that does not respond. */
const READS_NOTHING: Step[] = [
  { start: 'kept', call: 'readKept', with: { name: 'subscription' } },
  { timer: 300 },
  { timer: 1_000 },
  { wait: 'kept', fails: { code: 'network_error', status: 0 } },
]

/** Ann has bought 30 days of access, has read her subscription, and is now in flight mode. */
const IN_FLIGHT: Step[] = [
  ...SIGN_IN,
  { server: 'grantSubscription', args: [ANN.email] },
  { call: 'readSubscription', gives: ACTIVE },
  { sent: [{ request: SUBSCRIPTION, query: { proof: 'true' } }] },
  OFFLINE,
]

function editScenario(what: string, member: string, value?: unknown): Scenario {
  return {
    name: `flight: a stored subscription edited to have ${what} gives no access`,
    server: USERS,
    steps: [
      ...IN_FLIGHT,
      { advance: 31 * DAY },
      { edit: KEPT, member: `entries.subscription.data.${member}`, value },
      { restart: true },
      readsKept({ entitlements: [{ active: false }], plan: null }),
    ],
  }
}

export const FLIGHT_SCENARIOS: Scenario[] = [
  {
    name: 'flight: a subscription gives access exactly until its end, also after restarts',
    server: USERS,
    steps: [
      ...IN_FLIGHT,
      { restart: true },
      readsKept(ACTIVE),
      { advance: 29 * DAY },
      { restart: true },
      readsKept(ACTIVE),
      { advance: DAY - 1_000 },
      { restart: true },
      readsKept(ACTIVE),
      { advance: 1_000 },
      { restart: true },
      readsKept(ENDED),
    ],
  },
  {
    name: 'flight: a kept response has the time it was sent, and is refreshed',
    server: USERS,
    steps: [
      ...IN_FLIGHT,
      { repair: true },
      { advance: 3 * HOUR },
      {
        call: 'readKept',
        with: { name: 'subscription' },
        gives: { data: ACTIVE, isStale: true, asOf: '2026-03-01T12:00:00.000Z' },
      },
      { counts: { 'POST /api/auth/refresh/v1': 1, [SUBSCRIPTION]: 1 } },
      { call: 'readSubscription', gives: ACTIVE },
      {
        call: 'readKept',
        with: { name: 'subscription' },
        gives: { isStale: true, asOf: '2026-03-01T15:00:00.000Z' },
      },
    ],
  },
  {
    name: 'flight: a value that is not kept is read from the server',
    server: USERS,
    steps: [
      ...SIGN_IN,
      readsKept({ entitlements: [], plan: { code: 'free' } }, false),
      { sent: [SUBSCRIPTION] },
      OFFLINE,
      { start: 'profile', call: 'readKept', with: { name: 'profile' } },
      { timer: 300 },
      { timer: 1_000 },
      { wait: 'profile', fails: { code: 'network_error', status: 0 } },
    ],
  },
  {
    name: 'flight: profile, settings, plans, rates and questions are kept too',
    server: { ...USERS, faqs: [{ question: 'Q', answer: 'A' }] },
    steps: [
      ...SIGN_IN,
      { call: 'readProfile' },
      { call: 'readAppSettings' },
      { call: 'readPricingPlans' },
      { call: 'readCurrencyRates' },
      { call: 'readFaqs', with: { lang: 'de' } },
      OFFLINE,
      { restart: true },
      { call: 'readKept', with: { name: 'profile' }, gives: { data: { email: ANN.email } } },
      { call: 'readKept', with: { name: 'settings' }, gives: { data: { hardPaywall: false } } },
      {
        call: 'readKept',
        with: { name: 'plans' },
        gives: { data: [{ code: 'free' }, { code: 'pro' }], isStale: true },
      },
      { call: 'readKept', with: { name: 'rates' }, gives: { data: { rates: { EUR: 0.9 } } } },
      {
        call: 'readKept',
        with: { name: 'faqs', lang: 'de' },
        gives: { data: [{ question: 'Q' }] },
      },
    ],
  },
  {
    name: 'flight: setting the clock back does not restore access that has ended',
    server: USERS,
    steps: [
      ...IN_FLIGHT,
      { advance: 31 * DAY },
      { restart: true },
      readsKept(ENDED),
      { setClock: -26 * DAY },
      { restart: true },
      readsKept(ENDED),
    ],
  },
  {
    name: 'flight: setting the clock back does not prolong access while the app runs',
    server: USERS,
    steps: [
      ...IN_FLIGHT,
      { setClock: -10 * DAY },
      readsKept(ACTIVE),
      { advance: 31 * DAY },
      readsKept(ENDED),
    ],
  },
  {
    name: 'flight: a clock that is ahead ends access, until the server sends the time',
    server: USERS,
    steps: [
      ...IN_FLIGHT,
      { setClock: 40 * DAY },
      { restart: true },
      readsKept(ENDED),
      { repair: true },
      { call: 'readSubscription', gives: ACTIVE },
      { setClock: 0 },
      OFFLINE,
      { restart: true },
      readsKept(ACTIVE),
    ],
  },
  {
    name: 'flight: values kept for another user give no access',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { server: 'grantSubscription', args: [ANN.email] },
      { call: 'readSubscription', gives: ACTIVE },
      { copy: KEPT, save: 'kept' },
      { call: 'login', with: BOB, save: 'bob' },
      { stored: KEPT, is: null },
      { edit: KEPT, value: '$kept' },
      OFFLINE,
      { restart: true },
      ...READS_NOTHING,
      { edit: KEPT, value: '$kept' },
      { edit: KEPT, member: 'userId', value: '$bob.user._id' },
      { restart: true },
      ...READS_NOTHING,
    ],
  },
  {
    name: 'flight: nothing is kept after a sign-out',
    server: USERS,
    steps: [...IN_FLIGHT, { call: 'logout' }, { stored: KEPT, is: null }],
  },
  {
    name: 'flight: nothing is kept after a deletion',
    server: USERS,
    steps: [...IN_FLIGHT, { repair: true }, { call: 'deleteProfile' }, { stored: KEPT, is: null }],
  },
  editScenario('a later end', 'entitlements.0.expiresAt', '2030-01-01T00:00:00.000Z'),
  editScenario('another entitlement', 'entitlements.0.id', 'max'),
  {
    name: 'flight: a stored subscription without its signature, or with another, gives no access',
    server: USERS,
    steps: [
      ...IN_FLIGHT,
      { copy: KEPT, save: 'kept' },
      { edit: KEPT, member: 'entries.subscription.data.proof' },
      { restart: true },
      ...READS_NOTHING,
      { edit: KEPT, value: '$kept' },
      { edit: KEPT, member: 'entries.subscription.data.proof', value: 'e30.e30.AA' },
      { restart: true },
      ...READS_NOTHING,
      { edit: KEPT, value: '{"entries":' },
      { restart: true },
      ...READS_NOTHING,
    ],
  },
  {
    name: 'flight: a stored subscription edited to have other claims gives no access',
    server: USERS,
    steps: [
      ...IN_FLIGHT,
      { copy: KEPT, save: 'kept' },
      {
        server: 'forgeClaims',
        args: ['$kept', { entitlements: { pro: null }, plan: null }],
        save: 'forged',
      },
      { edit: KEPT, value: '$forged' },
      { restart: true },
      ...READS_NOTHING,
    ],
  },
  {
    name: 'flight: the proof must be signed with one of the keys that the app trusts',
    options: { signingKeys: ['another', 'gWjt7nmB1udyFpLYVp0SxJnI8lJEvl7q8AFYZRqnGV8'] },
    server: USERS,
    steps: [
      ...IN_FLIGHT,
      { restart: true },
      readsKept(ACTIVE),
      { restart: { signingKeys: ['another'] } },
      ...READS_NOTHING,
    ],
  },
  {
    name: 'flight: test purchases are not kept',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { server: 'grantSubscription', args: [ANN.email, { environment: 'sandbox' }] },
      {
        call: 'readSubscription',
        with: { environment: 'sandbox' },
        gives: { environment: 'sandbox', entitlements: [{ id: 'pro', active: true }] },
      },
      {
        sent: [{ request: SUBSCRIPTION, query: { environment: 'sandbox' } }],
      },
      { call: 'readProfile' },
      { sent: [PROFILE] },
      { stored: KEPT, is: { entries: { subscription: null, profile: { $any: true } } } },
    ],
  },
  {
    name: 'flight: a storage failure does not fail a read',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { failStorage: 'write' },
      { call: 'readSubscription', gives: { entitlements: [] } },
      { stored: KEPT, is: null },
    ],
  },
]
