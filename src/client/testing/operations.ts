import type { Client, Session } from '../client.ts'
import table from './operations.json' with { type: 'json' }

/** Functions of the client that send no request of their own. */
type LocalFunction =
  | 'isSignedIn'
  | 'accessToken'
  | 'onAuthChange'
  | 'onChange'
  | 'readKept'
  | 'syncData'
  | 'queuePurchase'
  | 'onPurchaseResult'

export type Functions = Omit<Client, LocalFunction | 'refresh'> & {
  refresh: (input: { refreshToken: string }) => Promise<Session>
}

/** Operations of the server that the fake does not support, with their routes. */
export const UNSUPPORTED = {
  signInWithPasskey: 'POST /api/auth/passkey/v1/sign_in',
} as const satisfies Partial<Record<keyof Client, string>>

type Supported = Exclude<keyof Functions, keyof typeof UNSUPPORTED>

/** The operations of the fake server: the client's functions, and the stream of `onChange`. */
export type Operation = Supported | 'streamChanges'

/** The results of the client's functions. */
export type ReplyTo = { [Name in Supported]: Awaited<ReturnType<Functions[Name]>> }

/** Operations that reply with the example in the API document, regardless of earlier requests. */
export const WITH_EXAMPLE = [
  'addPasskey',
  'cancelEmailChange',
  'changeEmail',
  'deleteAttachment',
  'exportData',
  'listAttachments',
  'listPasskeys',
  'readAttachment',
  'removePasskey',
  'renamePasskey',
  'startPasskeyRegistration',
  'startPasskeySignIn',
  'unlinkProvider',
  'uploadAttachments',
] as const satisfies Supported[]

/** Operations whose replies depend on earlier requests. */
export type Handled = Exclude<Supported, (typeof WITH_EXAMPLE)[number]>

/** An operation of the server, as `scripts/client-operations.ts` extracts it from the API document. */
export type Row = {
  /** Its method and path. */
  route: string
  /** Whether the route reads an access token; `optional`: a request without one is accepted. */
  token: 'none' | 'optional' | 'required'
  /** The strings that the input must have. */
  texts?: string[]
  /** The body of a reply, for the operations in `WITH_EXAMPLE`. */
  example?: unknown
}

const OPERATIONS = new Map(Object.entries(table as Record<string, Row>))

/** Throws unless the server has the operation that a test names. */
export function requireOperation(name: string) {
  if (!OPERATIONS.has(name)) throw new TypeError(`The fake server has no operation ${name}.`)
}

export type NamedOperation = Row & { name: string }

/** The operation at a route; null for an unknown one. */
export function findOperation(route: string): NamedOperation | null {
  const found = [...OPERATIONS].find(([, row]) => row.route === route)
  return found ? { name: found[0], ...found[1] } : null
}
