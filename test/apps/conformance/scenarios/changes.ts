import type { Scenario, Step } from '../types.ts'
import { ANN, BOB, EXPIRE, REFRESH, SIGN_IN, USERS } from './common.ts'

const STREAM = 'GET /api/user/changes/v1'
const LISTEN: Step = { listen: 'change' }
const change = (kind: string): Step => ({ event: { event: 'change', kind } })
/** The changes that a listener receives at the start. */
const ALL = ['subscription', 'profile', 'data', 'settings'].map(change)
const RENAME: Step = { call: 'changeProfile', with: { profile: { name: 'Ann' } } }
const OPEN: Step = { server: 'countConnections', gives: 1 }
const CLOSED: Step = { server: 'countConnections', gives: 0 }
/** The delays before the next connection, which grow with each failure. */
const DELAY = 3_000 * 0.75

export const CHANGE_SCENARIOS: Scenario[] = [
  {
    name: 'changes: every kind is reported once at the start, then each change as it happens',
    server: USERS,
    steps: [
      ...SIGN_IN,
      LISTEN,
      ...ALL,
      {
        sent: [
          {
            request: STREAM,
            headers: {
              authorization: 'Bearer $session.accessToken',
              'last-event-id': null,
            },
          },
        ],
      },
      RENAME,
      change('profile'),
      { server: 'changeContent', args: [{ settings: { underMaintenance: true } }] },
      change('settings'),
      { server: 'grantSubscription', args: [ANN.email] },
      change('subscription'),
      { in: 'other', call: 'patchData', with: { data: { a: 1 } } },
      change('data'),
      { noEvent: 'change' },
      { unlisten: 'change' },
      CLOSED,
    ],
  },
  {
    name: 'changes: a connection that ended resumes where it stopped, after a delay',
    server: USERS,
    steps: [
      ...SIGN_IN,
      RENAME,
      LISTEN,
      ...ALL,
      { sent: 'any' },
      { server: 'cutConnections' },
      CLOSED,
      { in: 'other', call: 'patchData', with: { data: { a: 1 } } },
      { sent: 'any' },
      { timer: DELAY },
      change('data'),
      OPEN,
      { sent: [{ request: STREAM, headers: { 'last-event-id': { $any: true } } }] },
      { noEvent: 'change' },
    ],
  },
  {
    name: 'changes: a broken connection is reopened',
    server: USERS,
    steps: [
      ...SIGN_IN,
      LISTEN,
      ...ALL,
      { server: 'breakConnections' },
      CLOSED,
      { server: 'setServerData', args: [ANN.email, { level: 1 }] },
      { timer: DELAY },
      change('data'),
      { noEvent: 'change' },
    ],
  },
  {
    name: 'changes: the delay grows with each failure, until a connection succeeds',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { fault: { target: 'streamChanges', code: 'internal_error', status: 500 } },
      { fault: { target: 'streamChanges', html: 403 } },
      { fault: { target: 'streamChanges', code: 'rate_limited' } },
      LISTEN,
      { timer: 2 * DELAY },
      { timer: 4 * DELAY },
      { timer: 8 * DELAY },
      ...ALL,
      { counts: { [STREAM]: 4 } },
      { server: 'cutConnections' },
      CLOSED,
      { timer: DELAY },
      OPEN,
    ],
  },
  {
    name: 'changes: a silence of 60 s counts as a lost connection',
    server: USERS,
    steps: [
      ...SIGN_IN,
      LISTEN,
      ...ALL,
      { sent: [STREAM] },
      { timer: 60_000 },
      CLOSED,
      { timer: 2 * DELAY },
      OPEN,
      { sent: [STREAM] },
      { noEvent: 'change' },
    ],
  },
  {
    name: 'changes: the connection opens at sign-in and closes at sign-out',
    server: USERS,
    steps: [
      LISTEN,
      { advance: 60_000 },
      { sent: [] },
      { call: 'login', with: ANN },
      ...ALL,
      OPEN,
      { call: 'logout' },
      CLOSED,
      { noEvent: 'change' },
      { call: 'login', with: BOB },
      ...ALL,
      { server: 'setServerData', args: [ANN.email, { a: 1 }] },
      { server: 'setServerData', args: [BOB.email, { b: 1 }] },
      change('data'),
      { noEvent: 'change' },
    ],
  },
  {
    name: 'changes: the connection notices that the session has ended',
    server: USERS,
    steps: [
      ...SIGN_IN,
      LISTEN,
      ...ALL,
      { server: 'endSessions' },
      CLOSED,
      { timer: DELAY },
      { event: { event: 'signedOut' } },
      { call: 'isSignedIn', gives: false },
      { noEvent: 'change' },
    ],
  },
  {
    name: 'changes: connecting refreshes an expired token',
    server: USERS,
    steps: [...SIGN_IN, EXPIRE, LISTEN, ...ALL, { sent: [REFRESH, STREAM] }],
  },
  {
    name: 'changes: the connection opens once the storage can be read again',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { failStorage: 'read' },
      LISTEN,
      { timer: 2 * DELAY },
      { timer: 4 * DELAY },
      { failStorage: 'none' },
      { timer: 8 * DELAY },
      ...ALL,
      { sent: [STREAM] },
    ],
  },
]
