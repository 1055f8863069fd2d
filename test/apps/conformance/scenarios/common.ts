import type { ServerSetup, Step } from '../types.ts'

export const PASSWORD = 'correct horse battery'
export const ANN = { email: 'ann@example.com', password: PASSWORD }
export const BOB = { email: 'bob@example.com', password: PASSWORD }

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

export const SESSION = 'homeport.session'
export const KEPT = 'homeport.kept'

/** A server that knows Ann and Bob. */
export const USERS: ServerSetup = { users: [ANN, BOB] }

export const LOGIN = 'POST /api/auth/login/v1'
export const REGISTER = 'POST /api/auth/register/v1'
export const GUEST = 'POST /api/auth/guest/v1'
export const REFRESH = 'POST /api/auth/refresh/v1'
export const LOGOUT = 'POST /api/auth/logout/v1'
export const PROFILE = 'GET /api/user/profile/v1'
export const CHANGE_PROFILE = 'PATCH /api/user/profile/v1'
export const DELETE_PROFILE = 'DELETE /api/user/profile/v1'
export const SUBSCRIPTION = 'GET /api/user/subscription/v1'

/** Ann signs in; her session is `$session`. */
export const SIGN_IN: Step[] = [
  { call: 'login', with: ANN, gives: { user: { email: ANN.email } }, save: 'session' },
  { sent: 'any' },
]

/** The access token expires, but not the session. */
export const EXPIRE: Step = { advance: 16 * MINUTE }

/** The network is down until `repair`. */
export const OFFLINE: Step = { fault: { target: '*', network: 'cut', times: 'forever' } }
/** The delays of a read that fails on the network, without the randomness. */
export const READ_RETRIES: Step[] = [{ timer: 300 }, { timer: 1_000 }]
/** The delays of a refresh that fails. */
export const REFRESH_RETRIES: Step[] = [{ timer: 500 }, { timer: 2_000 }, { timer: 3_000 }]
