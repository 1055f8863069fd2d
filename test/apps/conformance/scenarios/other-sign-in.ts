import type { Scenario } from '../types.ts'
import { ANN, LOGIN, PASSWORD, PROFILE, SESSION, SIGN_IN, USERS } from './common.ts'

const SECOND_STEP = 'POST /api/auth/login/v1/two_factor'

export const OTHER_SIGN_IN_SCENARIOS: Scenario[] = [
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
    name: 'sign-in: a passkey signs in, and its JSON is passed on',
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
              credential: { id: 'AA', response: { signature: 'AA', authenticatorData: 'AA' } },
            },
          },
        ],
      },
      { call: 'readProfile', gives: { email: ANN.email } },
    ],
  },
]
