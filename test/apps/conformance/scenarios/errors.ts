import type { Scenario, Step } from '../types.ts'
import {
  ANN,
  CHANGE_PROFILE,
  EXPIRE,
  LOGIN,
  OFFLINE,
  PROFILE,
  READ_RETRIES,
  REFRESH,
  SIGN_IN,
  USERS,
} from './common.ts'

const RENAME = { profile: { name: 'Ann' } }
const FAQS = 'GET /api/user/faqs/v1'
const SETTINGS = 'GET /api/user/app_settings/v1'

/** Errors that an immediate retry does not resolve. */
const CODES: [code: string, status: number][] = [
  ['validation_failed', 422],
  ['not_found', 404],
  ['conflict', 409],
  ['precondition_failed', 412],
  ['rate_limited', 429],
  ['internal_error', 500],
  ['a_new_code_of_a_newer_server', 418],
]

/** Replies with status 200 that are not Homeport's. */
const INVALID = [
  '',
  '{}',
  '[]',
  'null',
  '"Welcome"',
  '7',
  '{"code":"ok"}',
  '{"code":1,"response":{}}',
]

function replyFails(headers: Record<string, string>, retryAfter: number | null): Step[] {
  const body = { code: 'rate_limited', message: 'Later.' }
  return [
    { fault: { target: 'readFaqs', reply: { status: 429, headers, body } } },
    { call: 'readFaqs', fails: { code: 'rate_limited', message: 'Later.', retryAfter } },
  ]
}

export const ERROR_SCENARIOS: Scenario[] = [
  {
    name: 'errors: the code, status, message, details and request id come from the server',
    steps: [
      ...CODES.flatMap(([code, status]): Step[] => [
        {
          fault: {
            ...{ target: 'readFaqs', code, status, message: 'So it is.' },
            details: [{ path: 'lang', message: 'must be a language' }],
          },
        },
        {
          call: 'readFaqs',
          fails: {
            ...{ code, status, message: 'So it is.', requestId: 'fake', retryAfter: null },
            details: [{ path: 'lang', message: 'must be a language' }],
          },
        },
      ]),
      { counts: { [FAQS]: CODES.length } },
    ],
  },
  {
    name: 'errors: Retry-After is seconds or a date, and nothing else',
    steps: [
      ...replyFails({ 'retry-after': '7' }, 7),
      ...replyFails({ 'retry-after': '1.5' }, 2),
      ...replyFails({ 'retry-after': 'Sun, 01 Mar 2026 12:00:30 GMT' }, 30),
      ...replyFails({ 'retry-after': 'Sun, 01 Mar 2026 11:00:00 GMT' }, 0),
      ...replyFails({ 'retry-after': '-5' }, null),
      ...replyFails({ 'retry-after': 'soon' }, null),
      ...replyFails({}, null),
    ],
  },
  {
    name: 'errors: a reply that is not Homeport’s is not a success',
    server: USERS,
    steps: [
      ...SIGN_IN,
      ...INVALID.flatMap((body): Step[] => [
        { fault: { target: 'readProfile', reply: { body } } },
        { call: 'readProfile', fails: { code: 'reply_invalid', status: 200 } },
      ]),
      { fault: { target: 'changeProfile', reply: { body: '{"code":"ok"}' } } },
      { call: 'changeProfile', with: RENAME, fails: { code: 'reply_invalid', status: 200 } },
      { fault: { target: 'readFaqs', html: 200 } },
      { call: 'readFaqs', fails: { code: 'reply_invalid', status: 200 } },
      { fault: { target: 'readFaqs', html: 404 } },
      { call: 'readFaqs', fails: { code: 'reply_invalid', status: 404 } },
      { call: 'readProfile', gives: { email: ANN.email } },
    ],
  },
  {
    name: 'errors: a read that fails on the network is tried three times',
    steps: [
      OFFLINE,
      { start: 'a', call: 'readFaqs' },
      ...READ_RETRIES,
      { wait: 'a', fails: { code: 'network_error', status: 0, retryAfter: null } },
      { sent: [FAQS, FAQS, FAQS] },
    ],
  },
  {
    name: 'errors: a read succeeds at its third attempt, after different failures',
    steps: [
      { fault: { target: 'readFaqs', html: 502 } },
      { fault: { target: 'readFaqs', code: 'unavailable', status: 503 } },
      { start: 'a', call: 'readFaqs' },
      ...READ_RETRIES,
      { wait: 'a', gives: [] },
      { sent: [FAQS, FAQS, FAQS] },
    ],
  },
  {
    name: 'errors: a read waits as long as the server asks, up to 5 s',
    steps: [
      { fault: { target: 'readFaqs', code: 'unavailable', retryAfter: 4 } },
      { fault: { target: 'readFaqs', code: 'unavailable', retryAfter: 5 } },
      { start: 'a', call: 'readFaqs' },
      { timer: 4_000 },
      { timer: 5_000 },
      { wait: 'a', gives: [] },
      { fault: { target: 'readFaqs', code: 'unavailable', retryAfter: 6 } },
      { call: 'readFaqs', fails: { code: 'unavailable', status: 503, retryAfter: 6 } },
      { counts: { [FAQS]: 4 } },
    ],
  },
  {
    name: 'errors: a change is never repeated',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { fault: { target: 'changeProfile', network: 'lost' } },
      { call: 'changeProfile', with: RENAME, fails: { code: 'network_error', status: 0 } },
      { fault: { target: 'changeProfile', network: 'cut' } },
      { call: 'changeProfile', with: RENAME, fails: { code: 'network_error', status: 0 } },
      { fault: { target: 'changeProfile', code: 'unavailable' } },
      { call: 'changeProfile', with: RENAME, fails: { code: 'unavailable', status: 503 } },
      { fault: { target: 'changeProfile', html: 504 } },
      { call: 'changeProfile', with: RENAME, fails: { code: 'reply_invalid', status: 504 } },
      { sent: [CHANGE_PROFILE, CHANGE_PROFILE, CHANGE_PROFILE, CHANGE_PROFILE] },
      { fault: { target: 'login', network: 'cut' } },
      { call: 'login', with: ANN, fails: { code: 'network_error' } },
      { sent: [LOGIN] },
    ],
  },
  {
    name: 'errors: the platform does not repeat a change whose connection closes without a byte',
    server: USERS,
    steps: [
      { fault: { target: 'login', network: 'refused' } },
      { call: 'login', with: ANN, fails: { code: 'network_error', status: 0 } },
      { sent: [LOGIN] },
      { fault: { target: 'requestEmailCode', network: 'refused' } },
      { call: 'requestEmailCode', with: { email: ANN.email }, fails: { code: 'network_error' } },
      { sent: ['POST /api/auth/email_code/v1'] },
    ],
  },
  {
    name: 'errors: a call without a reply times out',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { fault: { target: 'changeProfile', network: 'silent' } },
      { start: 'a', call: 'changeProfile', with: RENAME, timeout: 7_000 },
      { sent: [CHANGE_PROFILE] },
      { timer: 7_000 },
      { wait: 'a', fails: { code: 'timeout', status: 0 } },
      { fault: { target: 'readProfile', network: 'stalled' } },
      { start: 'b', call: 'readProfile', timeout: 8_000 },
      { sent: [PROFILE] },
      { timer: 8_000 },
      { wait: 'b', fails: { code: 'timeout', status: 0 } },
      { call: 'readProfile', gives: { email: ANN.email } },
      { sent: [PROFILE] },
    ],
  },
  {
    name: 'errors: a call times out after 30 s, or the time that the client was created with',
    steps: [
      { fault: { target: '*', network: 'silent', times: 'forever' } },
      { start: 'a', call: 'forgotPassword', with: { email: ANN.email } },
      { timer: 30_000 },
      { wait: 'a', fails: { code: 'timeout', status: 0 } },
      { restart: { timeout: 12_000 } },
      { start: 'b', call: 'forgotPassword', with: { email: ANN.email } },
      { timer: 12_000 },
      { wait: 'b', fails: { code: 'timeout', status: 0 } },
    ],
  },
  {
    name: 'errors: the timeout of a call includes its retries',
    steps: [
      OFFLINE,
      { start: 'a', call: 'readFaqs', timeout: 1_000 },
      { timer: 300 },
      { timer: 1_000 },
      { wait: 'a', fails: { code: 'timeout', status: 0 } },
    ],
  },
  {
    name: 'errors: a cancelled call fails immediately, and sends nothing more',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { fault: { target: 'readProfile', network: 'silent' } },
      { start: 'a', call: 'readProfile' },
      { sent: [PROFILE] },
      { cancel: 'a' },
      { wait: 'a', fails: { code: 'aborted', status: 0 } },
      OFFLINE,
      { start: 'b', call: 'readFaqs' },
      { sent: [FAQS] },
      { cancel: 'b' },
      { wait: 'b', fails: { code: 'aborted', status: 0 } },
      { repair: true },
      { advance: 5_000 },
      { call: 'readProfile', gives: { email: ANN.email } },
      { sent: [PROFILE] },
    ],
  },
  {
    name: 'errors: a call that gives up on a refresh does not affect others that wait for it',
    server: USERS,
    steps: [
      ...SIGN_IN,
      EXPIRE,
      { fault: { target: 'refresh', hold: 'refresh' } },
      { start: 'impatient', call: 'readProfile', timeout: 2_500 },
      { start: 'cancelled', call: 'readProfile' },
      { start: 'patient', call: 'readProfile' },
      { holding: 'refresh' },
      { cancel: 'cancelled' },
      { wait: 'cancelled', fails: { code: 'aborted', status: 0 } },
      { timer: 2_500 },
      { wait: 'impatient', fails: { code: 'timeout', status: 0 } },
      { release: 'refresh' },
      { wait: 'patient', gives: { email: ANN.email } },
      { counts: { [REFRESH]: 1, [PROFILE]: 1 } },
    ],
  },
  {
    name: 'errors: the settings do not wait for a refresh that hangs',
    server: USERS,
    steps: [
      ...SIGN_IN,
      EXPIRE,
      { fault: { target: 'refresh', network: 'silent' } },
      { start: 'a', call: 'readAppSettings' },
      { sent: [REFRESH] },
      { timer: 3_000 },
      { wait: 'a', gives: { underMaintenance: false } },
      { sent: [{ request: SETTINGS, headers: { authorization: null } }] },
    ],
  },
  {
    name: 'errors: the settings are read without a user once the session has ended',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { call: 'readAppSettings', gives: { underMaintenance: false } },
      { sent: [{ request: SETTINGS, headers: { authorization: { $any: true } } }] },
      { server: 'endSessions' },
      EXPIRE,
      { call: 'readAppSettings', gives: { underMaintenance: false } },
      { sent: [REFRESH, { request: SETTINGS, headers: { authorization: null } }] },
    ],
  },
]
