import type { Client } from '../client.ts'
import type { Session } from '../models.ts'
import type { FakeRequest } from './requests.ts'

type RefreshExchange = { refresh: (input: { refreshToken: string }) => Promise<Session> }

/** Functions of the client that send no request of their own. */
type LocalFunction = 'isSignedIn' | 'accessToken' | 'onAuthChange' | 'onChange'

type Functions = Omit<Client, LocalFunction | 'refresh'> & RefreshExchange

/** Operations of the server that the fake does not support, with their routes. */
export const UNSUPPORTED = {
  startPasskeySignIn: 'POST /api/auth/passkey/v1/sign_in/options',
  signInWithPasskey: 'POST /api/auth/passkey/v1/sign_in',
  listPasskeys: 'GET /api/auth/passkey/v1',
  startPasskeyRegistration: 'POST /api/auth/passkey/v1/options',
  addPasskey: 'POST /api/auth/passkey/v1',
  renamePasskey: 'PATCH /api/auth/passkey/v1',
  removePasskey: 'DELETE /api/auth/passkey/v1',
} as const satisfies Partial<Record<keyof Client, string>>

type Supported = Exclude<keyof Functions, keyof typeof UNSUPPORTED>

/** The operations of the fake server: the client's functions, the stream of `onChange`, and the download of a file. */
export type Operation = Supported | 'streamChanges' | 'readFile'

/** Handles a request whose input has the type of the client's function. */
type Handler<K extends Supported> = (
  input: Parameters<Functions[K]>[0] & object,
  request: FakeRequest,
) => Awaited<ReturnType<Functions[K]>> | ReturnType<Functions[K]>

export type Handlers = { [K in Supported]: Handler<K> }

/** Several operations, for a file that handles some of them. */
export type HandlersFor<K extends Supported> = Pick<Handlers, K>

/**
 * An operation per line: its name, `!` if it needs no access token, its method, its path after `/api/`, and the texts
 * that its input must have.
 */
const OPERATIONS = `register ! POST auth/register/v1 email password
login ! POST auth/login/v1 email password
passTwoFactor ! POST auth/login/v1/two_factor challengeToken code
signInSocially ! POST auth/social/v1 provider idToken
unlinkProvider  DELETE auth/social/v1 provider
requestEmailCode ! POST auth/email_code/v1 email
signInWithEmailCode ! POST auth/email_code/v1/verify requestToken code
startAsGuest ! POST auth/guest/v1
refresh ! POST auth/refresh/v1 refreshToken
logout  POST auth/logout/v1
listSessions  GET auth/sessions/v1
endSession  DELETE auth/sessions/v1 id
changePassword  PATCH auth/password/v1 currentPassword newPassword
forgotPassword ! POST auth/password/v1/forgot email
resetPassword ! POST auth/password/v1/reset token newPassword
verifyEmail ! POST auth/email/v1/verify token
resendVerification  POST auth/email/v1/resend
changeEmail  POST auth/email/v1/change email
cancelEmailChange ! POST auth/email/v1/cancel token
setUpTwoFactor  POST auth/two_factor/v1
confirmTwoFactor  POST auth/two_factor/v1/confirm code
renewRecoveryCodes  POST auth/two_factor/v1/recovery_codes code
disableTwoFactor  DELETE auth/two_factor/v1 code
readProfile  GET user/profile/v1
changeProfile  PATCH user/profile/v1
deleteProfile  DELETE user/profile/v1
exportData  GET user/export/v1
readData  GET user/data/v1
replaceData  PUT user/data/v1
patchData  PATCH user/data/v1
uploadAttachments  POST user/attachments/v1 type
listAttachments  GET user/attachments/v1
deleteAttachment  DELETE user/attachments/v1 key
readAttachment  GET user/attachments/v1/download key
readSubscription  GET user/subscription/v1
readUsage  GET user/usage/v1
submitPurchases  POST user/purchases/v1
readAppSettings ! GET user/app_settings/v1
readPricingPlans ! GET user/pricing_plans/v1
readCurrencyRates ! GET user/currency_rates/v1
readContentVersions ! GET user/content_version/v1
readFaqs ! GET user/faqs/v1
streamChanges  GET user/changes/v1`

type Route = { name: string; isPublic: boolean; texts: string[] }

const FILE: Route = { name: 'readFile', isPublic: true, texts: [] }

const ROUTES = new Map(
  OPERATIONS.split('\n').map((line): [string, Route] => {
    const [name = '', flag, method, path, ...texts] = line.split(' ')
    return [`${method} /api/${path}`, { name, isPublic: flag === '!', texts }]
  }),
)
const UNSUPPORTED_NAMES = new Map(
  Object.entries<string>(UNSUPPORTED).map(([name, route]) => [route, name]),
)
const NAMES = new Set(
  [...ROUTES.values(), FILE].map(({ name }) => name).concat(Object.keys(UNSUPPORTED)),
)

/** Whether a test may name the operation. */
export function isOperation(name: string): boolean {
  return NAMES.has(name)
}

/** The operation at a route; without `isSupported`, only its name, or the route of an unknown one. */
export function operationAt(method: string, path: string): Route & { isSupported: boolean } {
  const route = `${method} ${path}`
  const found = path.startsWith('/files/') ? FILE : ROUTES.get(route)
  const name = UNSUPPORTED_NAMES.get(route) ?? route
  return { name, isPublic: true, texts: [], ...found, isSupported: found !== undefined }
}
