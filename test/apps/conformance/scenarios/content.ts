import vectors from '../../../platform/encryption/payload-encryption.json' with { type: 'json' }
import type { Scenario } from '../types.ts'
import {
  ANN,
  CHANGE_PROFILE,
  LOGIN,
  PASSWORD,
  PROFILE,
  SIGN_IN,
  SUBSCRIPTION,
  USERS,
} from './common.ts'

const PLANS = 'GET /api/user/pricing_plans/v1'
const FAQS = 'GET /api/user/faqs/v1'
const VERSIONS = 'GET /api/user/content_version/v1'
const RATES = 'GET /api/user/currency_rates/v1'
const SETTINGS = 'GET /api/user/app_settings/v1'
/** As the server publishes it. */
const { d: _private, ...SERVER_KEY } = { ...vectors.serverKey, use: 'enc' }

const DEVICE = {
  device: 'Zoë’s phone 📱',
  language: 'de-CH, en;q=0.8',
  deviceId: 'device ä 1',
  version: '2.3.1',
  buildNumber: 231,
  platform: 'android',
}
const HEADERS = {
  env: 'test',
  device: 'Zo%C3%AB%E2%80%99s%20phone%20%F0%9F%93%B1',
  'accept-language': 'de-CH, en;q=0.8',
  'device-id': 'device%20%C3%A4%201',
  'app-platform': 'android',
  'app-version': '2.3.1',
  timezone: { $matches: '^[A-Za-z]+([/_+-][A-Za-z0-9_+-]+)*$' },
}

export const CONTENT_SCENARIOS: Scenario[] = [
  {
    name: 'headers: every request describes the app and its device, in ASCII',
    options: DEVICE,
    server: USERS,
    steps: [
      { call: 'login', with: ANN },
      { call: 'readProfile' },
      { call: 'changeProfile', with: { profile: { name: 'Zoë' } } },
      { call: 'readFaqs' },
      {
        sent: [
          {
            request: LOGIN,
            headers: {
              ...HEADERS,
              'content-type': { $matches: '^application/json(;.*)?$' },
              authorization: null,
            },
          },
          { request: PROFILE, headers: { ...HEADERS, authorization: { $matches: '^Bearer ' } } },
          { request: CHANGE_PROFILE, headers: HEADERS, body: { profile: { name: 'Zoë' } } },
          { request: FAQS, headers: HEADERS },
        ],
      },
    ],
  },
  {
    name: 'headers: values that the app does not set are not sent',
    options: { platform: 'ios', version: '1.0' },
    steps: [
      { call: 'readPricingPlans' },
      {
        sent: [
          {
            request: PLANS,
            headers: {
              'app-platform': 'ios',
              'app-version': '1.0',
              'device-id': null,
              authorization: null,
              'content-type': null,
            },
          },
        ],
      },
    ],
  },
  {
    name: 'headers: public content is read without a token',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { call: 'readPricingPlans' },
      { call: 'readFaqs' },
      { call: 'readCurrencyRates', gives: { rates: { EUR: 0.9 } } },
      { call: 'readContentVersions', gives: { faqs: 1 } },
      {
        sent: [PLANS, FAQS, RATES, VERSIONS].map((request) => ({
          request,
          headers: { authorization: null },
        })),
      },
    ],
  },
  {
    name: 'headers: queries are encoded',
    server: USERS,
    steps: [
      { call: 'readFaqs', with: { lang: 'de' } },
      { sent: [{ request: FAQS, query: { lang: 'de' } }] },
      ...SIGN_IN,
      {
        call: 'readAttachment',
        with: { key: "a b/c+d'ä&e=f.png" },
        gives: { key: { $any: true } },
      },
      {
        sent: [
          {
            request: 'GET /api/user/attachments/v1/download',
            query: { key: "a b/c+d'ä&e=f.png" },
          },
        ],
      },
      { call: 'listAttachments', with: { limit: 20 }, gives: { attachments: { $any: true } } },
      { sent: [{ request: 'GET /api/user/attachments/v1', query: { limit: '20', after: null } }] },
    ],
  },
  {
    name: 'profile: null restores a default, and omitted fields stay',
    server: USERS,
    steps: [
      ...SIGN_IN,
      {
        call: 'changeProfile',
        with: { profile: { name: 'Ann', currency: 'eur' }, onboardingCompleted: true },
        gives: { profile: { name: 'Ann', currency: 'eur' }, onboardingCompleted: true },
      },
      {
        call: 'changeProfile',
        with: { profile: { currency: null } },
        gives: { profile: { name: 'Ann', currency: 'usd' }, onboardingCompleted: true },
      },
      { call: 'resendVerification', fails: { code: 'conflict', status: 409 } },
      {
        call: 'changePassword',
        with: { currentPassword: PASSWORD, newPassword: 'a better one of mine' },
        gives: { message: { $any: true } },
      },
      { call: 'readProfile', gives: { email: ANN.email } },
    ],
  },
  {
    name: 'content: unchanged content is not sent again',
    server: { plans: [{ code: 'pro', price: 9.99 }] },
    steps: [
      { call: 'readPricingPlans', gives: [{ code: 'pro', price: 9.99 }] },
      { sent: [{ request: PLANS, headers: { 'if-none-match': null } }] },
      { call: 'readPricingPlans', gives: [{ code: 'pro', price: 9.99 }] },
      { sent: [{ request: PLANS, headers: { 'if-none-match': { $any: true } } }] },
      { restart: true },
      { call: 'readPricingPlans', gives: [{ code: 'pro', price: 9.99 }] },
      { sent: [{ request: PLANS, headers: { 'if-none-match': { $any: true } } }] },
      { server: 'changeContent', args: [{ plans: [{ code: 'max', price: 20 }] }] },
      { call: 'readPricingPlans', gives: [{ code: 'max', price: 20 }] },
      { call: 'readPricingPlans', gives: [{ code: 'max', price: 20 }] },
      { counts: { [PLANS]: 2 } },
    ],
  },
  {
    name: 'content: a response kept in one language is not used for another',
    server: { faqs: [{ question: 'Q', answer: 'A' }] },
    steps: [
      { call: 'readFaqs', with: { lang: 'de' }, gives: [{ question: 'Q', answer: 'A' }] },
      { call: 'readFaqs', with: { lang: 'en' }, gives: [{ question: 'Q', answer: 'A' }] },
      { call: 'readFaqs', with: { lang: 'en' }, gives: [{ question: 'Q', answer: 'A' }] },
      {
        sent: [
          { request: FAQS, headers: { 'if-none-match': null } },
          { request: FAQS, headers: { 'if-none-match': null } },
          { request: FAQS, headers: { 'if-none-match': { $any: true } } },
        ],
      },
    ],
  },
  {
    name: 'content: a 304 reply without a kept response is an error',
    steps: [
      { fault: { target: 'readFaqs', reply: { status: 304, body: '' } } },
      { call: 'readFaqs', fails: { code: 'reply_invalid', status: 304 } },
    ],
  },
  {
    name: 'content: with sealing, a 304 reply that is not sealed does not confirm a kept response',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { server: 'grantSubscription', args: [ANN.email] },
      { call: 'readSubscription' },
      { restart: { env: 'production' } },
      { fault: { target: 'GET /.well-known/jwks.json', reply: { body: { keys: [SERVER_KEY] } } } },
      { fault: { target: SUBSCRIPTION, reply: { status: 304, body: '' } } },
      { call: 'readSubscription', fails: { code: 'reply_not_sealed', status: 304 } },
    ],
  },
  {
    name: 'content: finds rates by currency codes in upper and lower case',
    server: { rates: { rates: { USD: 1, EUR: 0.9 } } },
    steps: [
      { call: 'readCurrencyRates', save: 'rates' },
      { call: 'findRate', with: { rates: '$rates', currency: 'eur' }, gives: 0.9 },
      { call: 'findRate', with: { rates: '$rates', currency: 'EUR' }, gives: 0.9 },
      { call: 'findRate', with: { rates: '$rates', currency: 'chf' }, gives: null },
    ],
  },
  {
    name: 'content: an update is required below the supported version, and available below the latest',
    options: { platform: 'ios', version: 'v2.3-beta.1', buildNumber: 231 },
    server: {
      settings: {
        ios: {
          supportedVersion: '2.3.0',
          supportedBuildNumber: 231,
          latestVersion: '2.3',
          latestBuildNumber: 232,
        },
      },
    },
    steps: [
      { call: 'readAppSettings', save: 'settings' },
      { call: 'isUpdateRequired', with: { settings: '$settings' }, gives: false },
      { call: 'isUpdateAvailable', with: { settings: '$settings' }, gives: true },
      { sent: [SETTINGS] },
      { restart: { version: '2.2.10' } },
      { call: 'isUpdateRequired', with: { settings: '$settings' }, gives: true },
      { restart: { version: '2.10', buildNumber: 1 } },
      { call: 'isUpdateRequired', with: { settings: '$settings' }, gives: false },
      { call: 'isUpdateAvailable', with: { settings: '$settings' }, gives: false },
      { restart: { version: 'invalid' } },
      { call: 'isUpdateRequired', with: { settings: '$settings' }, gives: false },
      { restart: { version: '1.0', platform: 'web' } },
      { call: 'isUpdateRequired', with: { settings: '$settings' }, gives: false },
    ],
  },
]
