import type { Scenario, Step } from '../types.ts'
import { ANN, LOGOUT, PROFILE, SESSION, SIGN_IN, USERS } from './common.ts'

/** Texts that are not a session. */
const DAMAGED = ['{', '"x"', '{}', '[]', '7', 'null', '', '{"accessToken":"x"}']

export const STORAGE_SCENARIOS: Scenario[] = [
  {
    name: 'storage: a damaged session counts as signed out',
    server: USERS,
    steps: [
      ...DAMAGED.flatMap((text): Step[] => [
        { edit: SESSION, value: text },
        { call: 'isSignedIn', gives: false },
      ]),
      { call: 'readProfile', fails: { code: 'unauthenticated', status: 401 } },
      { sent: [] },
      { restart: true },
      { call: 'login', with: ANN },
      { call: 'readProfile', gives: { email: ANN.email } },
    ],
  },
  {
    name: 'storage: a temporary read failure keeps the session',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { failStorage: 'read' },
      { call: 'readProfile', fails: { code: 'storage_failed', status: 0 } },
      { call: 'accessToken', fails: { code: 'storage_failed', status: 0 } },
      { sent: [] },
      { failStorage: 'none' },
      { call: 'readProfile', gives: { email: ANN.email } },
      { sent: [PROFILE] },
      { noEvent: 'signedOut' },
    ],
  },
  {
    name: 'storage: a sign-in that cannot be stored fails',
    server: USERS,
    steps: [
      { failStorage: 'write' },
      { call: 'login', with: ANN, fails: { code: 'storage_failed', status: 0 } },
      { call: 'isSignedIn', gives: false },
      { failStorage: 'none' },
      { call: 'login', with: ANN },
      { call: 'isSignedIn', gives: true },
    ],
  },
  {
    name: 'storage: a sign-out ends the session on the server if the device cannot remove it',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { failStorage: 'write' },
      { call: 'logout', fails: { code: 'storage_failed', status: 0 } },
      { sent: [LOGOUT] },
      { failStorage: 'none' },
      { call: 'login', with: ANN },
      { call: 'listSessions', gives: { $length: 1 } },
    ],
  },
  {
    name: 'storage: a sign-out removes a session that can no longer be read',
    server: USERS,
    steps: [
      ...SIGN_IN,
      { listen: 'authChange' },
      { failStorage: 'read' },
      { call: 'logout', gives: { message: 'Signed out on this device.' } },
      { sent: [] },
      { event: { event: 'authChange', reason: 'signed_out', isSignedIn: false, userId: null } },
      { stored: SESSION, is: null },
      { failStorage: 'none' },
      { call: 'isSignedIn', gives: false },
    ],
  },
]
