import type { JsonObject } from '../client.ts'
import type { UserProfile } from '../models.ts'
import { checkTexts, type Failure, failure } from './failure.ts'
import { createFaults, errorReply, type Fault } from './faults.ts'
import { createAccounts } from './handlers/accounts.ts'
import { type Content, createContent } from './handlers/content.ts'
import { createDocuments } from './handlers/documents.ts'
import { createFiles, type FileQuota } from './handlers/files.ts'
import { createGuestMerging } from './handlers/guests.ts'
import { createOneTimeTokens } from './handlers/one-time-tokens.ts'
import { createProfiles } from './handlers/profiles.ts'
import { createPurchases, type SubscriptionGrant } from './handlers/purchases.ts'
import { createSessions } from './handlers/sessions.ts'
import { createSignIn, type FakeIdentity, TWO_FACTOR_CODE } from './handlers/sign-in.ts'
import { createUsage } from './handlers/usage.ts'
import { type Handlers, type Operation, operationAt } from './operations.ts'
import { type FakeRequest, readBody, type SentRequest, toHeaderRecord } from './requests.ts'
import { createState, type Mail, type User, type UserReference } from './state.ts'
import { createStreams } from './streams.ts'

export type { Fault } from './faults.ts'
export type { Content } from './handlers/content.ts'
export type { SubscriptionGrant, SubscriptionState } from './handlers/purchases.ts'
export type { FakeIdentity } from './handlers/sign-in.ts'
export type { Operation } from './operations.ts'
export { UNSUPPORTED } from './operations.ts'
export type { SentRequest } from './requests.ts'
export type { Mail, UserReference } from './state.ts'

export type FakeServerOptions = Content & {
  /** The address of the fake server; `https://fake.homeport.test` by default. */
  url?: string
  /** The time at which the virtual clock stands; the real time by default. */
  now?: Date | string | number
  /** How much a user may store; 1,000 files and 1 GiB by default. */
  quota?: FileQuota
}

/** A user to add. */
export type FakeUser = {
  email?: string
  /** Without one, the user signs in by e-mail code or socially. */
  password?: string
  name?: string
  /** True by default. */
  emailVerified?: boolean
  /** Whether two-factor is on; its code is `twoFactorCode`. */
  twoFactor?: boolean
}

/** How far to move the clock. */
export type Duration = Partial<Record<'days' | 'hours' | 'minutes' | 'seconds' | 'ms', number>>

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
  /** Adds an account, signed in nowhere. */
  addUser: (user: FakeUser) => UserProfile
  /** The users, guests included, in the order in which they were created. */
  listUsers: () => UserProfile[]
  /** Returns an id token for `signInSocially`. */
  issueIdToken: (identity: FakeIdentity) => string
  /** The code that authenticator apps would show. */
  twoFactorCode: string
  /** Ends all sessions of a user, or of all users, as if from another device. */
  endSessions: (user?: UserReference) => void
  /** Sets what a user has bought. It replaces a purchase of the same product. */
  grantSubscription: (user: UserReference, grant?: SubscriptionGrant) => void
  /** Returns a `signedTransaction` or `purchaseToken` for `submitPurchases`. */
  issuePurchase: (grant?: SubscriptionGrant) => string
  /** Sets what a user has used of limits in their current periods. */
  setUsage: (user: UserReference, amounts: Record<string, number>) => void
  /** Stores the document that the app's own servers write. */
  setServerData: (user: UserReference, data: JsonObject) => void
  /** Publishes other settings, plans, questions or rates. */
  changeContent: (content: Content) => void
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
  /** The requests of the app, oldest first. */
  requests: SentRequest[]
}

const UNIT_MS = { days: 86_400_000, hours: 3_600_000, minutes: 60_000, seconds: 1_000, ms: 1 }
const DEFAULT_QUOTA = { files: 1_000, bytes: 2 ** 30 }
/** Operations that ignore a token that is not valid. */
const LENIENT = new Set(['login', 'passTwoFactor', 'readAppSettings'])

/** Creates a server with no users. */
export function createFakeServer(options: FakeServerOptions = {}): FakeServer {
  const { url = 'https://fake.homeport.test', now = Date.now(), quota = DEFAULT_QUOTA } = options
  const clock = { now: Number(new Date(now)) }
  const state = createState(clock, url)
  const sessions = createSessions(state)
  const tokens = createOneTimeTokens(state)
  const { mergeGuest, deleteUser } = createGuestMerging({ state, sessions, tokens })
  const signIn = createSignIn({ state, sessions, tokens, mergeGuest, secure, removeUntrusted })
  const content = createContent(state, options)
  const purchases = createPurchases(state, content.readPlans)
  const usage = createUsage(state, purchases)
  const documents = createDocuments(state)
  const files = createFiles(state, quota)
  const streams = createStreams(state, sessions)
  const faults = createFaults()
  const requests: SentRequest[] = []
  const handlers: Handlers = {
    ...signIn.handlers,
    ...createAccounts({ ...signIn, state, sessions, tokens, secure, removeUntrusted }),
    ...createProfiles({
      state,
      sessions,
      tokens,
      deleteUser,
      exportOthers: (user) => ({
        passkeys: [],
        notes: [],
        ...files.exportOf(user),
        subscription: purchases.read(user),
        sandboxSubscription: purchases.read(user, 'sandbox'),
        billingIds: user.purchases.length > 0 ? [user.id] : [],
        billingEvents: [],
        usage: usage.exportOf(user),
        data: documents.exportOf(user),
      }),
    }),
    ...content.handlers,
    ...purchases.handlers,
    ...usage.handlers,
    ...documents.handlers,
    ...files.handlers,
  }
  return {
    url,
    fetch,
    now: () => clock.now,
    advance,
    addUser,
    listUsers: () => Array.from(state.users.values(), state.describe),
    issueIdToken: signIn.issueIdToken,
    twoFactorCode: TWO_FACTOR_CODE,
    endSessions: (user) => sessions.endAll(user === undefined ? null : state.resolve(user).id),
    grantSubscription: (user, grant = {}) => purchases.grant(user, grant),
    issuePurchase: (grant = {}) => purchases.issuePurchase(grant),
    setUsage: usage.setUsage,
    setServerData: documents.setServerData,
    changeContent: content.change,
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
    return state.describe(user)
  }

  /** Ends a user's sessions but one, and voids what a thief could have requested. */
  function secure(userId: string, keptSession: string | null) {
    sessions.endAll(userId, keptSession)
    tokens.revoke(userId)
    const user = state.find(userId)
    if (user.twoFactorSince === null) user.hasSecret = false
  }

  function removeUntrusted(user: User) {
    if (user.emailVerifiedAt !== null) return
    const off = { hasSecret: false, twoFactorSince: null, recoveryCodes: [], identities: [] }
    Object.assign(user, off)
  }

  async function fetch(target: string, init: RequestInit = {}): Promise<Response> {
    // A file that the app passes as a URL of the platform.
    if (/^(blob|data):/.test(target)) return globalThis.fetch(target, init)
    const { signal, method = 'GET' } = init
    const { pathname, search, origin } = new URL(target)
    if (signal?.aborted) throw new TypeError('fake server: the request was cancelled')
    if (origin !== new URL(url).origin)
      throw new TypeError(`fake server: ${origin} is not ${url}, which it answers for`)
    const headers = toHeaderRecord(init.headers)
    const path = pathname.slice(new URL(url).pathname.replace(/\/$/, '').length)
    const operation = operationAt(method.toUpperCase(), path)
    const { name } = operation
    const query = Object.fromEntries(new URLSearchParams(search))
    const { json, files, size } = await readBody(init.body, headers['content-type'] ?? '')
    const sentFiles = files.map(({ name, type, bytes }) => ({ name, type, size: bytes.length }))
    const described = { operation: name, method: method.toUpperCase(), path, query, headers }
    requests.push({ ...described, body: json, files: sentFiles })
    reportProgress(init, size)
    const request = { path, query, headers, files, signal, userId: '', sessionId: '' }
    const reply = async () => answer(operation, json, request)
    const fault = faults.take(name, `${described.method} ${path}`, signal)
    return fault ? fault.respond(reply) : reply()
  }

  async function answer(
    { name, isPublic, texts, isSupported }: ReturnType<typeof operationAt>,
    json: unknown,
    request: FakeRequest,
  ): Promise<Response> {
    try {
      if (!isSupported) return unsupported(name)
      if ((request.headers['env'] ?? 'test') !== 'test') return unsupported('payload encryption')
      const signedIn = {
        ...request,
        ...sessionOf(name, isPublic, request.headers['authorization']),
      }
      if (name === 'streamChanges') return streams.open(signedIn)
      if (name === 'readFile') {
        const { bytes, itemType } = files.open(request.path, request.query)
        return new Response(bytes as Uint8Array<ArrayBuffer>, {
          headers: { 'content-type': itemType },
        })
      }
      const handle = handlers[name as keyof Handlers] as (...args: unknown[]) => unknown
      const input = Object(json ?? request.query)
      checkTexts(input, texts)
      return envelope(await handle(input, signedIn))
    } catch (error) {
      const { code = 'internal_error', message, details } = error as Partial<Failure>
      const shown = code === 'internal_error' ? `fake server: ${(error as Error).stack}` : message
      return errorReply(code, { ...(shown && { message: shown }), ...(details && { details }) })
    }
  }

  function sessionOf(name: string, isPublic: boolean, authorization = '') {
    const [, token] = /^Bearer (\S+)$/i.exec(authorization) ?? []
    const nobody = { userId: '', sessionId: '' }
    if (token === undefined) {
      if (isPublic) return nobody
      throw failure('unauthenticated', 'A bearer token is required: sign in first.')
    }
    try {
      return sessions.check(token)
    } catch (error) {
      if (LENIENT.has(name)) return nobody
      throw error
    }
  }
}

/** Puts a result into the server's envelope: data, a message, or a page. */
function envelope(result: unknown): Response {
  const { message, next, attachments, challengeToken } = result as Record<string, unknown>
  const code = challengeToken === undefined ? 'ok' : 'two_factor_required'
  const isPage = attachments !== undefined && next !== undefined
  const page = { response: attachments, ...(next === null ? {} : { next }) }
  const content = typeof message === 'string' ? result : isPage ? page : { response: result }
  const headers = { 'content-type': 'application/json' }
  return new Response(JSON.stringify({ code, ...(content as object) }), { headers })
}

function unsupported(name: string): Response {
  const message = `fake server: ${name} is not supported`
  return errorReply('not_supported', { message, status: 501 })
}

/** Reports an upload in two steps, where the client asks for its progress. */
function reportProgress(init: RequestInit, total: number) {
  const { onProgress } = init as {
    onProgress?: (progress: { sent: number; total: number }) => void
  }
  for (const sent of [Math.floor(total / 2), total]) onProgress?.({ sent, total })
}
