import type { Scenario } from '../types.ts'
import { ANN, BOB, GUEST, LOGIN, PASSWORD, PROFILE, REGISTER, SESSION, USERS } from './common.ts'

export const SIGN_IN_SCENARIOS: Scenario[] = [
  {
    name: 'sign-in: by password, and the session is stored as every client reads it',
    server: USERS,
    steps: [
      { call: 'isSignedIn', gives: false },
      { call: 'login', with: ANN, gives: { user: { email: ANN.email } }, save: 'session' },
      { sent: [{ request: LOGIN, body: ANN, headers: { authorization: null } }] },
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
      {
        sent: [{ request: PROFILE, headers: { authorization: 'Bearer $session.accessToken' } }],
      },
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
          'POST /api/auth/logout/v1',
          { request: 'POST /api/auth/email_code/v1', body: { email: BOB.email } },
          { request: 'POST /api/auth/password/v1/forgot', body: { email: BOB.email } },
        ],
      },
    ],
  },
  {
    name: 'guest: starts once for two calls at once, and continues after a restart',
    steps: [
      { fault: { target: 'startAsGuest', hold: 'guest' } },
      { start: 'a', call: 'startAsGuest' },
      { start: 'b', call: 'startAsGuest' },
      { holding: 'guest' },
      { release: 'guest' },
      { wait: 'a', gives: { user: { loginType: 'guest' } }, save: 'guest' },
      { wait: 'b', gives: { user: { _id: '$guest.user._id' } } },
      { sent: [GUEST] },
      { stored: SESSION, is: { isGuest: true, userId: '$guest.user._id' } },
      { restart: true },
      {
        call: 'startAsGuest',
        gives: { user: { _id: '$guest.user._id' }, accessToken: '$guest.accessToken' },
      },
      { sent: [PROFILE] },
    ],
  },
]
