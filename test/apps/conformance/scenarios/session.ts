import type { Scenario } from '../types.ts'
import { EXPIRE, LOGOUT, PROFILE, REFRESH, SESSION, SIGN_IN, USERS } from './common.ts'

export const SESSION_SCENARIOS: Scenario[] = [
  {
    name: 'session: three calls share one refresh, whose tokens are stored',
    server: USERS,
    steps: [
      ...SIGN_IN,
      EXPIRE,
      { fault: { target: 'refresh', hold: 'refresh' } },
      { start: 'a', call: 'readProfile' },
      { start: 'b', call: 'accessToken' },
      { start: 'c', call: 'refresh' },
      { holding: 'refresh' },
      { release: 'refresh' },
      { wait: 'a', gives: { email: 'ann@example.com' } },
      { wait: 'b', gives: { $not: '$session.accessToken' }, save: 'token' },
      { wait: 'c' },
      {
        sent: [
          {
            request: REFRESH,
            body: { refreshToken: '$session.refreshToken' },
            headers: { authorization: null },
          },
          { request: PROFILE, headers: { authorization: 'Bearer $token' } },
        ],
      },
      { stored: SESSION, is: { accessToken: '$token' } },
    ],
  },
  {
    name: 'session: a lost reply to a refresh is forgiven',
    server: USERS,
    steps: [
      ...SIGN_IN,
      EXPIRE,
      { fault: { target: 'refresh', network: 'lost', times: 2 } },
      { start: 'a', call: 'readProfile' },
      { timer: 500 },
      { timer: 2_000 },
      { wait: 'a', gives: { email: 'ann@example.com' } },
      { sent: [REFRESH, REFRESH, REFRESH, PROFILE] },
    ],
  },
  {
    name: 'session: a refused refresh ends it once',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { listen: 'authChange' },
      { server: 'endSessions' },
      { call: 'readProfile', fails: { code: 'unauthenticated', status: 401 } },
      { sent: [PROFILE, REFRESH] },
      { event: { event: 'authChange', reason: 'session_ended', isSignedIn: false, userId: null } },
      { event: { event: 'signedOut' } },
      { stored: SESSION, is: null },
      { call: 'readProfile', fails: { code: 'unauthenticated', status: 401 } },
      { sent: [] },
      { noEvent: 'authChange' },
    ],
  },
  {
    name: 'session: a process that dies before it stores the refreshed tokens continues',
    server: USERS,
    steps: [
      ...SIGN_IN,
      EXPIRE,
      { dieAtWrite: { key: SESSION, when: 'before' } },
      { start: 'a', call: 'readProfile' },
      { dies: true },
      { restart: true },
      { call: 'readProfile', gives: { email: 'ann@example.com' } },
      { sent: [REFRESH, REFRESH, PROFILE] },
    ],
  },
  {
    name: 'session: a sign-out without a network takes effect on the device',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { listen: 'authChange' },
      { fault: { target: '*', network: 'refused', times: 'forever' } },
      { call: 'logout', gives: { message: { $any: true } } },
      { sent: [LOGOUT] },
      { call: 'isSignedIn', gives: false },
      { stored: SESSION, is: null },
      { event: { event: 'authChange', reason: 'signed_out', isSignedIn: false } },
    ],
  },
]
