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
const SECOND_STEP = 'POST /api/auth/login/v1/two_factor'

export const SIGN_IN_SCENARIOS: Scenario[] = [
  {
    name: 'sign-in: by password, and the session is stored as every client reads it',
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
    name: 'sign-in: a wrong password says so, and nothing is stored',
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
    name: 'sign-in: invalid input says which fields',
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
    name: 'sign-in: by a code from an e-mail',
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
    name: 'sign-in: by an id token of Google',
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
    name: 'sign-in: a refused id token signs nobody in and ends no session',
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
    name: 'sign-in: two-factor asks for a code before there is a session',
    server: { users: [{ ...ANN, twoFactor: true }] },
    steps: [
      { call: 'login', with: ANN, gives: { challengeToken: { $any: true } }, save: 'challenge' },
      { call: 'isSignedIn', gives: false },
      { stored: SESSION, is: null },
      {
        call: 'passTwoFactor',
        with: { challengeToken: '$challenge.challengeToken', code: '000000' },
        fails: { code: 'invalid_credentials', status: 401 },
      },
      { server: 'twoFactorCode', save: 'code' },
      {
        call: 'passTwoFactor',
        with: { challengeToken: '$challenge.challengeToken', code: '$code' },
        gives: { accessToken: { $any: true }, user: { email: ANN.email } },
      },
      {
        sent: [LOGIN, SECOND_STEP, { request: SECOND_STEP, headers: { authorization: null } }],
      },
      { call: 'isSignedIn', gives: true },
    ],
  },
  {
    name: 'sign-in: a recovery code passes two-factor once',
    server: USERS,
    steps: [
      ...SIGN_IN,
      {
        call: 'setUpTwoFactor',
        with: { password: PASSWORD },
        gives: { secret: { $any: true }, otpauthUrl: { $matches: '^otpauth:' } },
      },
      { server: 'twoFactorCode', save: 'code' },
      {
        call: 'confirmTwoFactor',
        with: { code: '$code' },
        gives: { recoveryCodes: { $length: 10 } },
        save: 'confirmed',
      },
      { call: 'logout' },
      { call: 'login', with: ANN, save: 'first' },
      {
        call: 'passTwoFactor',
        with: {
          challengeToken: '$first.challengeToken',
          code: '$confirmed.recoveryCodes.0',
        },
        gives: { user: { twoFactor: { enabled: true, recoveryCodesLeft: 9 } } },
      },
      { call: 'logout' },
      { call: 'login', with: ANN, save: 'second' },
      {
        call: 'passTwoFactor',
        with: {
          challengeToken: '$second.challengeToken',
          code: '$confirmed.recoveryCodes.0',
        },
        fails: { code: 'invalid_credentials' },
      },
    ],
  },
  {
    name: 'sign-in: a link from an e-mail sets a new password once',
    server: USERS,
    steps: [
      { call: 'forgotPassword', with: { email: ANN.email }, gives: { message: { $any: true } } },
      { server: 'lastToken', args: [ANN.email], save: 'token' },
      {
        call: 'resetPassword',
        with: { token: '$token', newPassword: 'a better one of mine' },
        gives: { message: { $any: true } },
      },
      {
        call: 'login',
        with: { ...ANN, password: 'a better one of mine' },
        gives: { user: { email: ANN.email } },
      },
      {
        call: 'verifyEmail',
        with: { token: 'used' },
        fails: { code: 'unauthenticated', status: 401 },
      },
      // The refusal is about the link, not about the session.
      { call: 'readProfile', gives: { email: ANN.email } },
      {
        sent: [
          { request: 'POST /api/auth/password/v1/forgot', headers: { authorization: null } },
          { request: 'POST /api/auth/password/v1/reset', headers: { authorization: null } },
          LOGIN,
          { request: 'POST /api/auth/email/v1/verify', headers: { authorization: null } },
          PROFILE,
        ],
      },
    ],
  },
  {
    name: 'sign-in: by a passkey, whose JSON is passed on',
    server: USERS,
    steps: [
      { server: 'openSession', args: [ANN.email, PASSWORD], save: 'session' },
      {
        fault: {
          target: 'signInWithPasskey',
          reply: { body: { code: 'ok', response: '$session' } },
        },
      },
      {
        call: 'signInWithPasskey',
        with: {
          challengeToken: 'c',
          credential: {
            id: 'AA',
            rawId: 'AA',
            type: 'public-key',
            response: { clientDataJSON: 'e30', authenticatorData: 'AA', signature: 'AA' },
            clientExtensionResults: {},
          },
        },
        gives: { user: { email: ANN.email } },
      },
      {
        sent: [
          {
            request: 'POST /api/auth/passkey/v1/sign_in',
            body: {
              challengeToken: 'c',
              credential: { id: 'AA', response: { signature: 'AA', authenticatorData: 'AA' } },
            },
          },
        ],
      },
      { call: 'readProfile', gives: { email: ANN.email } },
    ],
  },
  {
    name: 'sign-in: a success without a session is not one',
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
