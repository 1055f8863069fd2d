import { AppError } from '../../lib/errors.ts'
import type { JsonObject } from '../data.ts'
import type { UserProfile } from '../models.ts'
import { checkTexts, unauthenticated } from './failure.ts'
import { createFaults, errorReply } from './faults.ts'
import type { Handlers } from './handler-types.ts'
import { createContent } from './handlers/content.ts'
import { createData } from './handlers/data.ts'
import { createPurchases } from './handlers/purchases.ts'
import { createStores } from './handlers/stores.ts'
import { createUsage } from './handlers/usage.ts'
import { createAccountSecurity } from './handlers/users/account-security.ts'
import { createAccounts } from './handlers/users/accounts.ts'
import { createOneTimeTokens } from './handlers/users/one-time-tokens.ts'
import { createProfiles } from './handlers/users/profiles.ts'
import { TWO_FACTOR_CODE } from './handlers/users/second-step.ts'
import { createSessions } from './handlers/users/sessions.ts'
import { createSignIn } from './handlers/users/sign-in.ts'
import {
  findOperation,
  type NamedOperation,
  type Operation,
  type ReplyTo,
  requireOperation,
  UNSUPPORTED,
} from './operations.ts'
import { type FakeRequest, readBody, toHeaderRecord } from './requests.ts'
import { createState } from './state.ts'
import { createStreams } from './streams.ts'
import type {
  Content,
  Duration,
  FakeIdentity,
  FakeServerOptions,
  FakeUser,
  Fault,
  Mail,
  SentRequest,
  SubscriptionGrant,
  UserReference,
} from './types.ts'

export type { Operation } from './operations.ts'
export { UNSUPPORTED } from './operations.ts'
export type * from './types.ts'

/** Homeport in memory, for the tests of an app. */
export type FakeServer = {
  /** The `baseUrl` for `createClient`. */
  url: string
  /** The `fetch` for `createClient`. */
  fetch: (url: string, init?: RequestInit) => Promise<Response>
  /** The virtual clock for `createClient`, in ms since 1970. */
  now: () => number
  /** Moves the virtual clock: tokens, sessions, links and purchases expire. */
  advance: (duration: Duration) => void
  /** Adds an account without sessions. */
  addUser: (user: FakeUser) => UserProfile
  /** The users, guests included, in the order in which they were created. */
  listUsers: () => UserProfile[]
  /** Returns an id token for `signInSocially`. */
  issueIdToken: (identity: FakeIdentity) => string
  /** The code that authenticator apps would show. */
  twoFactorCode: string
  /** Ends all sessions of a user, or of all users, as if from another device. */
  endSessions: (user?: UserReference) => void
  /** Grants a purchase to a user. It replaces a purchase of the same product. */
  grantSubscription: (user: UserReference, grant?: SubscriptionGrant) => void
  /** Returns a `signedTransaction` or `purchaseToken` for `submitPurchases`. */
  issuePurchase: (grant?: SubscriptionGrant) => string
  /** Sets a user's usage of limits in the current periods. */
  setUsage: (user: UserReference, amounts: Record<string, number>) => void
  /** Stores the document that the app's own servers write. */
  setServerData: (user: UserReference, data: JsonObject) => void
  /** Publishes new settings, plans, questions or rates. */
  changeContent: (content: Content) => void
  /** Makes an operation return a fixed reply from now on, whatever its input. Returns a function that undoes it. */
  reply: <Name extends keyof ReplyTo>(operation: Name, value: ReplyTo[Name]) => () => void
  /** Makes the next requests of an operation, of a route or of all (`*`) fail. Returns a function that undoes it. */
  fail: (target: Operation | (string & {}), fault: Fault) => () => void
  /** Ends the connections of `onChange`, as a lost network does. */
  cutConnections: () => void
  /** How many connections of `onChange` are open. */
  countConnections: () => number
  /** The e-mails that were sent, oldest first. */
  mails: Mail[]
  /** The newest code that an address has received. Throws if there is none. */
  lastCode: (email: string) => string
  /** The newest `token` of a link that an address has received. Throws if there is none. */
  lastToken: (email: string) => string
  /** The app's requests, oldest first. */
  requests: SentRequest[]
}

const UNIT_MS = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1_000, ms: 1 }
/** Operations that ignore an invalid token. */
const LENIENT = ['login', 'passTwoFactor']

/** Creates a server with no users. */
export function createFakeServer(options: FakeServerOptions = {}): FakeServer {
  const { url = 'https://fake.homeport.test', now = Date.now() } = options
  const base = new URL(url)
  const clock = { now: Number(new Date(now)) }
  const state = createState(clock, url)
  const sessions = createSessions(state)
  const tokens = createOneTimeTokens(state)
  const security = createAccountSecurity({ state, sessions, tokens })
  const signIn = createSignIn({ state, sessions, tokens, security })
  const content = createContent(state, options)
  const purchases = createPurchases(state, content.readPlans)
  const stores = createStores(state, purchases, content.readPlans)
  const usage = createUsage(state, purchases)
  const data = createData(state)
  const streams = createStreams(state, sessions)
  const faults = createFaults()
  /** The fixed replies, by operation. */
  const replies = new Map<string, unknown>()
  const requests: SentRequest[] = []
  const handlers: Handlers = {
    ...signIn.handlers,
    ...createAccounts({ state, sessions, tokens, security }),
    ...createProfiles({ state, purchases, security }),
    ...content.handlers,
    ...purchases.handlers,
    ...stores.handlers,
    ...usage.handlers,
    ...data.handlers,
  }
  return {
    url,
    fetch,
    now: () => clock.now,
    advance,
    addUser,
    listUsers: () => Array.from(state.users.values(), state.toProfile),
    issueIdToken: signIn.issueIdToken,
    twoFactorCode: TWO_FACTOR_CODE,
    endSessions: (user) => sessions.endAll(user === undefined ? null : state.resolve(user).id),
    grantSubscription: (user, grant = {}) => purchases.grant(user, grant),
    issuePurchase: (grant = {}) => stores.issuePurchase(grant),
    setUsage: usage.setUsage,
    setServerData: data.setServerData,
    changeContent: content.change,
    reply,
    fail: faults.add,
    cutConnections: streams.cut,
    countConnections: streams.count,
    mails: state.mails,
    lastCode: (email) => state.lastMailed('code', email),
    lastToken: (email) => state.lastMailed('token', email),
    requests,
  }

  function advance(duration: Duration) {
    const pairs = Object.entries(duration) as [keyof Duration, number][]
    purchases.reportTimeChanges(() => {
      for (const [unit, count] of pairs) clock.now += count * UNIT_MS[unit]
    })
  }

  function addUser({ email, password, name = '', emailVerified = true, twoFactor }: FakeUser) {
    if (email !== undefined) state.requireFreeEmail(email)
    const user = state.addUser({
      loginType: email === undefined ? 'guest' : 'email',
      email: email ?? null,
      ownsEmail: email !== undefined,
      emailVerifiedAt: email !== undefined && emailVerified ? clock.now : null,
      password: password ?? null,
      name,
    })
    if (twoFactor) Object.assign(user, { hasSecret: true, twoFactorSince: clock.now })
    return state.toProfile(user)
  }

  function reply(operation: string, value: unknown): () => void {
    requireOperation(operation)
    replies.set(operation, value)
    return () => void replies.delete(operation)
  }

  async function fetch(target: string, init: RequestInit = {}): Promise<Response> {
    // A file that the app passes as a URL of the platform.
    if (/^(blob|data):/.test(target)) return globalThis.fetch(target, init)
    const { signal } = init
    const { pathname, search, origin } = new URL(target)
    if (signal?.aborted) throw new TypeError('fake server: the request was cancelled')
    if (origin !== base.origin)
      throw new TypeError(`fake server: only requests to ${url} are answered, not to ${origin}`)
    const method = (init.method ?? 'GET').toUpperCase()
    const path = pathname.slice(base.pathname.replace(/\/$/, '').length)
    const route = `${method} ${path}`
    const operation = findOperation(route)
    const name = operation?.name ?? route
    const headers = toHeaderRecord(init.headers)
    const query = Object.fromEntries(new URLSearchParams(search))
    const { json, files, size } = await readBody(init.body, headers['content-type'] ?? '')
    requests.push({ operation: name, method, path, query, headers, body: json, files })
    reportProgress(init, size)
    const request = { query, headers, signal, userId: '', sessionId: '' }
    const respond = async () => (operation ? answer(operation, json, request) : unsupported(route))
    const fault = faults.take(name, route, signal)
    return fault ? fault.respond(respond) : respond()
  }

  async function answer(
    operation: NamedOperation,
    json: unknown,
    request: FakeRequest,
  ): Promise<Response> {
    const { name, texts = [], example } = operation
    if (name in UNSUPPORTED) return unsupported(name)
    if ((request.headers['env'] ?? 'test') !== 'test') return unsupported('payload encryption')
    try {
      const signedIn = { ...request, ...findSession(operation, request.headers['authorization']) }
      if (name === 'streamChanges') return streams.open(signedIn)
      const input = Object(json ?? request.query)
      checkTexts(input, texts)
      if (replies.has(name)) return send(wrap(replies.get(name)))
      if (example !== undefined) return send(example)
      const handle = handlers[name as keyof Handlers] as (...args: unknown[]) => unknown
      return send(wrap(await handle(input, signedIn)))
    } catch (error) {
      const { code, message, details } = toAppError(error)
      return errorReply(code, { message, ...(details && { details }) })
    }
  }

  function findSession({ name, token: kind }: NamedOperation, authorization = '') {
    const [, token] = /^Bearer (\S+)$/i.exec(authorization) ?? []
    const anonymous = { userId: '', sessionId: '' }
    if (kind === 'none') return anonymous
    if (token === undefined) {
      if (kind === 'optional') return anonymous
      throw unauthenticated('A bearer token is required: sign in first.')
    }
    try {
      return sessions.check(token)
    } catch (error) {
      if (LENIENT.includes(name)) return anonymous
      throw error
    }
  }
}

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  return new AppError('internal_error', `fake server: ${(error as Error).stack}`)
}

/** Puts a result into the server's envelope: data, a message, or a page. */
function wrap(result: unknown): object {
  const { message, next, attachments, challengeToken } = result as Record<string, unknown>
  const code = challengeToken === undefined ? 'ok' : 'two_factor_required'
  if (typeof message === 'string') return { code, ...(result as object) }
  if (attachments === undefined || next === undefined) return { code, response: result }
  return { code, response: attachments, ...(next === null ? {} : { next }) }
}

function send(body: unknown): Response {
  const headers = { 'content-type': 'application/json' }
  return new Response(JSON.stringify(body), { headers })
}

function unsupported(name: string): Response {
  const message = `fake server: ${name} is not supported`
  return errorReply('not_supported', { message, status: 501 })
}

/** Reports the progress of an upload in two steps, if the client asks for it. */
function reportProgress(init: RequestInit, total: number) {
  const { onProgress } = init as {
    onProgress?: (progress: { sent: number; total: number }) => void
  }
  for (const sent of [Math.floor(total / 2), total]) onProgress?.({ sent, total })
}
