import type { CallOptions, Client } from './api.ts'
import { ApiError } from './api-error.ts'
import { randomHex } from './bytes.ts'
import { type Call, createCaller, type Envelope } from './caller.ts'
import { type AppOnDevice, contextHeaders } from './context-headers.ts'
import { formOf, type UploadInput } from './form.ts'
import type { Session } from './person-types.ts'
import type { InputOf, Method, ReplyOf, Route } from './routes.ts'
import { createSessionKeeper, isSessionEnded } from './session.ts'
import { inMemory, type Storage } from './storage.ts'
import { createTransmit, type Fetch } from './transmit.ts'
import { createPlainTransport, type Send } from './transport.ts'
import type { AttachmentPage, ListedAttachment, Subscription } from './types.ts'

export type { ErrorCode } from '../lib/errors.ts'
export type { CallOptions, Client, PageInput } from './api.ts'
export { ApiError, type ErrorDetail } from './api-error.ts'
export type { PhoneFile, UploadFile, UploadInput } from './form.ts'
export type * from './person-types.ts'
export type { Storage } from './storage.ts'
export type { Progress } from './transmit.ts'
export type * from './types.ts'
export { type InstalledApp, isUpdateAvailable, isUpdateRequired } from './updates.ts'

export type ClientOptions = {
  /** Where the server is, such as `https://api.example.com`. */
  baseUrl: string
  /** `test` (the default) sends plain; any other word, such as `production`, seals. */
  env?: string
  /** Thumbprints of the keys to seal for, as `homeport keys list` prints them. */
  pinnedKeys?: string[]
  /** Where the session is kept; without it in memory alone. */
  storage?: Storage
  /** What a person recognises this device by. */
  device?: string
  /** What app this is, for settings that depend on it. */
  app?: AppOnDevice
  /** Languages as in `Accept-Language`; the platform's without it. */
  language?: string
  /** Milliseconds until a call fails with `timeout`, 30,000 without it; of an upload, without any progress. */
  timeout?: number
  /** The server has ended the session. */
  onSignedOut?: () => void
  /** Other than the platform's own, for tests. `now`: ms since 1970. */
  fetch?: Fetch
  now?: () => number
}

type Path<M extends Method, P extends string> = [Route<M, P>] extends [never] ? never : P
/** A function of the client: what goes in, where there is anything, and how the call is made. */
type Fn<M extends Method, P extends string> = (
  ...given: [...InputOf<M, P>, options?: CallOptions]
) => Promise<ReplyOf<M, P>>

const DEFAULT_TIMEOUT = 30_000
const ATTACHMENTS = '/api/user/attachments/v1'

/** Homeport for an app: a function for each endpoint, which returns its data or throws an `ApiError`. */
export function createClient(options: ClientOptions): Client {
  const { env = 'test', storage = inMemory(), now = Date.now, timeout = DEFAULT_TIMEOUT } = options
  const { fetch = platformFetch, onSignedOut = () => {} } = options
  const send = createTransport(options, baseUrlOf(options), createTransmit(fetch), now)
  const call = createCaller(send, () => contextHeaders(options))
  const session = createSessionKeeper({ storage, exchangeRefreshToken, onSignedOut, now })

  return {
    isSignedIn: async () => (await session.token()) !== null,

    register: signingUp('/api/auth/register/v1'),
    login: signingIn('/api/auth/login/v1'),
    passTwoFactor: signingIn('/api/auth/login/v1/two_factor'),
    signInSocially: signingUp('/api/auth/social/v1'),
    startAsGuest: async (options) =>
      keepSession(
        await call('post', '/api/auth/guest/v1', null, { patience: patienceOf(options) }),
      ),
    refresh: async () => void (await session.renew((await session.token()) ?? '')),
    logout,
    listSessions: asUser('get', '/api/auth/sessions/v1'),
    endSession: asUser('delete', '/api/auth/sessions/v1', 'query'),
    changePassword: asUser('patch', '/api/auth/password/v1', 'json'),
    forgotPassword: asAnybody('post', '/api/auth/password/v1/forgot', 'json'),
    resetPassword: asAnybody('post', '/api/auth/password/v1/reset', 'json'),
    verifyEmail: asAnybody('post', '/api/auth/email/v1/verify', 'json'),
    resendVerification: asUser('post', '/api/auth/email/v1/resend'),
    changeEmail: asUser('post', '/api/auth/email/v1/change', 'json'),
    cancelEmailChange: asAnybody('post', '/api/auth/email/v1/cancel', 'json'),
    unlinkProvider: asUser('delete', '/api/auth/social/v1', 'query'),
    setUpTwoFactor: asUser('post', '/api/auth/two_factor/v1', 'json'),
    confirmTwoFactor: asUser('post', '/api/auth/two_factor/v1/confirm', 'json'),
    renewRecoveryCodes: asUser('post', '/api/auth/two_factor/v1/recovery_codes', 'json'),
    disableTwoFactor: asUser('delete', '/api/auth/two_factor/v1', 'json'),

    readProfile: asUser('get', '/api/user/profile/v1'),
    changeProfile: asUser('patch', '/api/user/profile/v1', 'json'),
    deleteProfile: async (options) =>
      clearSession(await asUser('delete', '/api/user/profile/v1')(options)),
    exportData: asUser('get', '/api/user/export/v1'),
    uploadAttachments,
    listAttachments,
    readAttachment: asUser('get', `${ATTACHMENTS}/download`, 'query'),
    deleteAttachment: asUser('delete', ATTACHMENTS, 'query'),
    // The routes do not say what a plan is: `PricingPlan`, as the plans themselves are.
    readSubscription: asUser('get', '/api/user/subscription/v1', 'query') as (
      ...given: unknown[]
    ) => Promise<Subscription>,

    readAppSettings: asAnybody('get', '/api/user/app_settings/v1'),
    readPricingPlans: asAnybody('get', '/api/user/pricing_plans/v1', 'query'),
    readCurrencyRates: asAnybody('get', '/api/user/currency_rates/v1'),
    readContentVersions: asAnybody('get', '/api/user/content_version/v1'),
    readFaqs: asAnybody('get', '/api/user/faqs/v1', 'query'),
  }

  /** The function of a route that anybody may ask. `as`: where its input goes; null when it takes none. */
  function asAnybody<M extends Method, P extends string>(
    method: M,
    path: P & Path<M, P>,
    as: 'query' | 'json' | null = null,
  ): Fn<M, P> {
    return async (...given) => dataOf<M, P>(await call(method, path, null, callOf(given, as)))
  }

  function asUser<M extends Method, P extends string>(
    method: M,
    path: P & Path<M, P>,
    as: 'query' | 'json' | null = null,
  ): Fn<M, P> {
    return async (...given) =>
      dataOf<M, P>(await withToken((token) => call(method, path, token, callOf(given, as))))
  }

  function callOf(given: unknown[], as: 'query' | 'json' | null): Call {
    const [input, options] = as === null ? [undefined, given[0]] : given
    const patience = patienceOf(options as CallOptions | undefined)
    return { ...(as === null ? {} : { [as]: input }), patience }
  }

  function patienceOf(options: CallOptions = {}) {
    return { signal: options.signal, timeout: options.timeout ?? timeout }
  }

  function signingIn<T>(path: string) {
    return async (json: unknown, options?: CallOptions): Promise<T> =>
      keepSession<T>(await call('post', path, null, { json, patience: patienceOf(options) }))
  }

  /** A guest who signs up keeps what is theirs: while the guest's token is good it goes with it. */
  function signingUp<T>(path: string) {
    return async (json: unknown, options?: CallOptions): Promise<T> => {
      const patience = patienceOf(options)
      const ask = (token: string | null) => call('post', path, token, { json, patience })
      const envelope = await withRefresh(ask).catch((error) => {
        if (isSessionEnded(error)) return ask(null)
        throw error
      })
      return keepSession<T>(envelope)
    }
  }

  /** Of signing in, where a challenge is no session yet. */
  async function keepSession<T>({ response }: Envelope): Promise<T> {
    const answer = response as Session | { challengeToken: string }
    if ('refreshToken' in answer) await session.keep(answer)
    return response as T
  }

  async function clearSession<T>(reply: T): Promise<T> {
    await session.forget()
    return reply
  }

  /** What cannot be reached, or has ended the session by itself, must not keep anybody signed in here. */
  async function logout(options?: CallOptions) {
    try {
      return await asUser('post', '/api/auth/logout/v1')(options)
    } catch (error) {
      const { code } = error as ApiError
      if (!/^(network_error|timeout|unauthenticated)$/.test(code)) throw error
      return { message: 'Signed out on this device.' }
    } finally {
      await session.forget()
    }
  }

  async function uploadAttachments(upload: UploadInput, options?: CallOptions) {
    const { files, onProgress = () => {}, idempotencyKey = randomHex(), ...query } = upload
    const content = await formOf(files, env !== 'test')
    // The server works on each file once all have arrived.
    const { signal, timeout } = patienceOf(options)
    const patience = { signal, timeout: timeout * Math.max(files.length, 1), onProgress }
    const headers = { 'idempotency-key': idempotencyKey }
    const { response } = await withToken((token) =>
      call('post', ATTACHMENTS, token, { query, content, headers, patience }),
    )
    return response as ReplyOf<'post', typeof ATTACHMENTS>
  }

  async function listAttachments(
    query: { limit?: number; after?: string } = {},
    options?: CallOptions,
  ): Promise<AttachmentPage> {
    const patience = patienceOf(options)
    const { response, next = null } = await withToken((token) =>
      call('get', ATTACHMENTS, token, { query, patience }),
    )
    return { attachments: response as ListedAttachment[], next }
  }

  async function exchangeRefreshToken(refreshToken: string): Promise<Session> {
    const { response } = await call('post', '/api/auth/refresh/v1', null, {
      json: { refreshToken },
      patience: patienceOf(),
    })
    return response as Session
  }

  /** Asks with an access token. Where the server says that the session has ended, it is forgotten. */
  async function withToken<T>(ask: (token: string) => Promise<T>): Promise<T> {
    let used = ''
    try {
      return await withRefresh((token) => {
        used = token
        return ask(token)
      })
    } catch (error) {
      if (isSessionEnded(error)) await session.end(used)
      throw error
    }
  }

  /** Asks with an access token, and once more with a new one when it has expired. */
  async function withRefresh<T>(ask: (token: string) => Promise<T>): Promise<T> {
    const token = await session.freshToken()
    try {
      return await ask(token)
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'token_expired') throw error
      // What somebody on the way says must not make us do it twice.
      if (!error.isGenuine) throw error
      return ask(await session.renew(token))
    }
  }
}

/** Plain for the `env` `test`. What seals is loaded with the first request that needs it. */
function createTransport(
  { env = 'test', pinnedKeys = null }: { env?: string; pinnedKeys?: string[] | null },
  baseUrl: string,
  transmit: ReturnType<typeof createTransmit>,
  now: () => number,
): Send {
  checkSealing(env, pinnedKeys)
  if (env === 'test') return createPlainTransport(baseUrl, transmit)
  let loading: Promise<Send> | null = null
  return async (request) => {
    loading ??= import('./sealed-transport.ts').then(({ createSealedTransport }) =>
      createSealedTransport({ baseUrl, env, pinnedKeys, transmit, now }),
    )
    return (await loading)(request)
  }
}

/** What is meant to be sealed must not go out plain by a mistake. */
function checkSealing(env: string, pinnedKeys: string[] | null) {
  if (env === 'test' && pinnedKeys !== null) {
    throw new TypeError('pinnedKeys does nothing without an env, such as production, that seals.')
  }
  if (env !== 'test' && globalThis.crypto?.subtle === undefined) {
    throw new TypeError(
      'Sealing needs WebCrypto: browsers have it on https pages, React Native by a package.',
    )
  }
}

function baseUrlOf({ baseUrl }: ClientOptions): string {
  if (/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/i.test(baseUrl)) return baseUrl.replace(/\/+$/, '')
  throw new TypeError(
    `baseUrl must be an address such as https://api.example.com, without spaces or a query; it is "${baseUrl}".`,
  )
}

function dataOf<M extends Method, P extends string>(envelope: Envelope): ReplyOf<M, P> {
  const { response, message } = envelope
  return (response === undefined ? { message } : response) as ReplyOf<M, P>
}

/** Looked up when it is called, on its own object: browsers ask for that. */
const platformFetch: Fetch = (url, init) => globalThis.fetch(url, init)
