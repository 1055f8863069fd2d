import type { Scenario } from '../types.ts'
import {
  ANN,
  BOB,
  LOGIN,
  LOGOUT,
  PASSWORD,
  PROFILE,
  REGISTER,
  SESSION,
  SIGN_IN,
  USERS,
} from './common.ts'

const CODE = 'POST /api/auth/email_code/v1'
const VERIFY_CODE = 'POST /api/auth/email_code/v1/verify'

export const SIGN_IN_SCENARIOS: Scenario[] = [
  {
    name: 'sign-in: a password signs in, and the session is stored in the common format',
    server: USERS,
    steps: [
      { call: 'isSignedIn', gives: false },
      { listen: 'authChange' },
      { call: 'login', with: ANN, gives: { user: { email: ANN.email } }, save: 'session' },
      { sent: [{ request: LOGIN, body: ANN, headers: { authorization: null } }] },
      {
        event: {
          event: 'authChange',
          reason: 'signed_in',
          isSignedIn: true,
          userId: '$session.user._id',
        },
      },
      { call: 'isSignedIn', gives: true },
      {
        stored: SESSION,
        is: {
          accessToken: '$session.accessToken',
          refreshToken: '$session.refreshToken',
          expiresAt: Date.parse('2026-03-01T12:15:00.000Z'),
          userId: '$session.user._id',
          isGuest: false,
          baseUrl: { $matches: '^http://127.0.0.1:\\d+$' },
        },
      },
      { call: 'readProfile', gives: { email: ANN.email, loginType: 'email' } },
      { sent: [{ request: PROFILE, headers: { authorization: 'Bearer $session.accessToken' } }] },
    ],
  },
  {
    name: 'sign-in: a wrong password fails with its code, and nothing is stored',
    server: USERS,
    steps: [
      {
        call: 'login',
        with: { ...ANN, password: 'wrong' },
        fails: { code: 'invalid_credentials', status: 401 },
      },
      { sent: [LOGIN] },
      { stored: SESSION, is: null },
      { call: 'readProfile', fails: { code: 'unauthenticated', status: 401 } },
      { sent: [] },
    ],
  },
  {
    name: 'sign-in: the error of invalid input names the fields',
    steps: [
      {
        call: 'register',
        with: { email: 'ann', password: 'short' },
        fails: {
          code: 'validation_failed',
          status: 422,
          details: [{ path: 'email', message: { $any: true } }, { path: 'password' }],
          requestId: 'fake',
        },
      },
      { sent: [REGISTER] },
    ],
  },
  {
    name: 'sign-in: spaces and invisible characters around an address are removed',
    steps: [
      {
        call: 'register',
        with: { email: ' \u200bann@example.com\u00a0\u2060\n', password: PASSWORD },
        gives: { user: { email: ANN.email } },
      },
      { sent: [{ request: REGISTER, body: { email: ANN.email } }] },
      { call: 'logout' },
      { call: 'requestEmailCode', with: { email: '\ufeffbob@example.com ' } },
      { call: 'forgotPassword', with: { email: '\tbob@example.com' } },
      {
        sent: [
          LOGOUT,
          { request: CODE, body: { email: BOB.email } },
          { request: 'POST /api/auth/password/v1/forgot', body: { email: BOB.email } },
        ],
      },
    ],
  },
  {
    name: 'sign-in: a code from an e-mail signs in',
    steps: [
      { call: 'requestEmailCode', with: { email: ANN.email }, save: 'request' },
      { server: 'lastCode', args: [ANN.email], save: 'code' },
      {
        call: 'signInWithEmailCode',
        with: { requestToken: '$request.requestToken', code: '000000' },
        fails: { code: 'invalid_credentials', status: 401 },
      },
      { stored: SESSION, is: null },
      {
        call: 'signInWithEmailCode',
        with: { requestToken: '$request.requestToken', code: '$code', name: 'Ann' },
        gives: { user: { email: ANN.email, emailVerified: true, profile: { name: 'Ann' } } },
        save: 'session',
      },
      { sent: [CODE, VERIFY_CODE, VERIFY_CODE] },
      { stored: SESSION, is: { userId: '$session.user._id', isGuest: false } },
    ],
  },
  {
    name: 'sign-in: a Google id token signs in',
    steps: [
      {
        server: 'issueIdToken',
        args: [{ provider: 'google', email: 'ann@gmail.com', name: 'Ann' }],
        save: 'idToken',
      },
      {
        call: 'signInSocially',
        with: { provider: 'google', idToken: '$idToken', nonce: 'n' },
        gives: { user: { email: 'ann@gmail.com', loginType: 'google', profile: { name: 'Ann' } } },
      },
      {
        sent: [
          {
            request: 'POST /api/auth/social/v1',
            body: { provider: 'google', idToken: '$idToken', nonce: 'n' },
          },
        ],
      },
      { call: 'isSignedIn', gives: true },
    ],
  },
  {
    name: 'sign-in: a refused id token neither starts nor ends a session',
    server: USERS,
    steps: [
      ...SIGN_IN,
      {
        call: 'signInSocially',
        with: { provider: 'apple', idToken: 'x' },
        fails: { code: 'unauthenticated', status: 401 },
      },
      { call: 'readProfile', gives: { email: ANN.email } },
    ],
  },
  {
    name: 'sign-in: a successful reply without a session is an error',
    server: USERS,
    steps: [
      { fault: { target: 'login', reply: { body: { code: 'ok', response: { user: {} } } } } },
      { call: 'login', with: ANN, fails: { code: 'reply_invalid', status: 200 } },
      { fault: { target: 'login', html: 200 } },
      { call: 'login', with: ANN, fails: { code: 'reply_invalid', status: 200 } },
      { stored: SESSION, is: null },
      { counts: { [LOGIN]: 2 } },
    ],
  },
]
