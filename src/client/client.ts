import { ApiError } from './api-error.ts'
import { randomHex } from './bytes.ts'
import { createCaller, type Envelope } from './caller.ts'
import { encodeForm, type UploadFile } from './form.ts'
import type { BodyOf, InputOf, Method, QueryOf, ReplyOf, Route } from './routes.ts'
import { createServerKeys } from './server-keys.ts'
import { createSessionKeeper, isSessionEnded, type Session as Tokens } from './session.ts'
import { inMemory, type Storage } from './storage.ts'
import { createTransmit, type Fetch, type Progress } from './transmit.ts'
import { createTransport } from './transport.ts'

export { ApiError } from './api-error.ts'
export type { UploadFile } from './form.ts'
export type { Storage } from './storage.ts'
export type { Progress } from './transmit.ts'

export type ClientOptions = {
  /** Where the server is: `https://api.example.com`, without a path. */
  baseUrl: string
  /** `test` (the default) sends plain; any other word, such as `production`, seals. */
  env?: string
  /** Thumbprints of the keys to seal for, as `homeport keys list` prints them. */
  pinnedKeys?: string[]
  /** Where the session is kept; without it in memory alone. */
  storage?: Storage
  /** What a person recognises this device by. */
  device?: string
  /** Languages as in `Accept-Language`; the platform's without it. */
  language?: string
  /** The server has ended the session. */
  onSignedOut?: () => void
  /** Other than the platform's own, for tests. `now`: ms since 1970. */
  fetch?: Fetch
  now?: () => number
}

type Upload = {
  files: UploadFile[]
  /** The same word again makes a retry of the same upload. */
  idempotencyKey?: string
  /** Told where the platform can tell. */
  onProgress?: (progress: Progress) => void
}
type Path<M extends Method, P extends string> = [Route<M, P>] extends [never] ? never : P
type SignInPath =
  | '/api/auth/register/v1'
  | '/api/auth/login/v1'
  | '/api/auth/login/v1/two_factor'
  | '/api/auth/social/v1'

export type Client = ReturnType<typeof createClient>
export type Session = Awaited<ReturnType<Client['passTwoFactor']>>

/** Homeport for an app: a function for each endpoint, which answers its data or throws an `ApiError`. */
export function createClient(options: ClientOptions) {
  const { env = 'test', pinnedKeys = null, storage = inMemory(), now = Date.now } = options
  const { fetch = platformFetch, onSignedOut = () => {} } = options
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  checkSealing(env, pinnedKeys)
  const transmit = createTransmit(fetch)
  const keys = createServerKeys({ baseUrl, pinnedKeys, transmit, now })
  const send = createTransport({ baseUrl, env, keys, transmit, now })
  const call = createCaller(send, () => contextHeaders(options))
  const session = createSessionKeeper({ storage, exchangeRefreshToken, onSignedOut, now })

  return {
    /** Whether a session is kept; the server may have ended it. */
    isSignedIn: async () => (await session.token()) !== null,

    register: signingUp('/api/auth/register/v1'),
    login: signingIn('/api/auth/login/v1'),
    passTwoFactor: signingIn('/api/auth/login/v1/two_factor'),
    signInSocially: signingUp('/api/auth/social/v1'),
    startAsGuest: async () => keepSession(await call('post', '/api/auth/guest/v1', null, {})),
    refresh: async () => void (await session.renew((await session.token()) ?? '')),
    logout: async () => clearSession(await asUser('post', '/api/auth/logout/v1')()),
    listSessions: asUser('get', '/api/auth/sessions/v1'),
    endSession: asUser('delete', '/api/auth/sessions/v1'),
    changePassword: asUser('patch', '/api/auth/password/v1'),
    forgotPassword: asAnybody('post', '/api/auth/password/v1/forgot'),
    resetPassword: asAnybody('post', '/api/auth/password/v1/reset'),
    verifyEmail: asAnybody('post', '/api/auth/email/v1/verify'),
    resendVerification: asUser('post', '/api/auth/email/v1/resend'),
    changeEmail: asUser('post', '/api/auth/email/v1/change'),
    cancelEmailChange: asAnybody('post', '/api/auth/email/v1/cancel'),
    unlinkProvider: asUser('delete', '/api/auth/social/v1'),
    setUpTwoFactor: asUser('post', '/api/auth/two_factor/v1'),
    confirmTwoFactor: asUser('post', '/api/auth/two_factor/v1/confirm'),
    disableTwoFactor: asUser('delete', '/api/auth/two_factor/v1', 'json'),

    readProfile: asUser('get', '/api/user/profile/v1'),
    changeProfile: asUser('patch', '/api/user/profile/v1'),
    deleteProfile: async () => clearSession(await asUser('delete', '/api/user/profile/v1')()),
    exportData: asUser('get', '/api/user/export/v1'),
    uploadAttachments: uploading('/api/user/attachments/v1'),
    readAttachment: asUser('get', '/api/user/attachments/v1/download'),
    deleteAttachment: asUser('delete', '/api/user/attachments/v1'),
    readSubscription: asUser('get', '/api/user/subscription/v1'),

    readAppSettings: asAnybody('get', '/api/user/app_settings/v1'),
    readPricingPlans: asAnybody('get', '/api/user/pricing_plans/v1'),
    readCurrencyRates: asAnybody('get', '/api/user/currency_rates/v1'),
    readContentVersions: asAnybody('get', '/api/user/content_version/v1'),
    readFaqs: asAnybody('get', '/api/user/faqs/v1'),
  }

  function asAnybody<M extends Method, P extends string>(
    method: M,
    path: P & Path<M, P>,
    as = inputLocationOf(method),
  ) {
    return async (...[input]: InputOf<M, P>) =>
      dataOf<M, P>(await call(method, path, null, { [as]: input }))
  }

  function asUser<M extends Method, P extends string>(
    method: M,
    path: P & Path<M, P>,
    as = inputLocationOf(method),
  ) {
    return async (...[input]: InputOf<M, P>) =>
      dataOf<M, P>(await withToken((token) => call(method, path, token, { [as]: input })))
  }

  function signingIn<P extends SignInPath>(path: P) {
    return async (body: BodyOf<'post', P>) =>
      keepSession<P>(await call('post', path, null, { json: body }))
  }

  /** A guest who signs up keeps what is theirs: while the guest's token is good it goes with it. */
  function signingUp<P extends SignInPath>(path: P) {
    return async (body: BodyOf<'post', P>) => {
      const ask = (token: string | null) => call('post', path, token, { json: body })
      const envelope = await withRefresh(ask).catch((error) => {
        if (isSessionEnded(error)) return ask(null)
        throw error
      })
      return keepSession<P>(envelope)
    }
  }

  async function keepSession<P extends string>(envelope: Envelope) {
    const { response } = envelope as { response: Tokens | ReplyOf<'post', P> }
    if (typeof response === 'object' && 'refreshToken' in response) await session.keep(response)
    return response as ReplyOf<'post', P>
  }

  async function clearSession<T>(reply: T): Promise<T> {
    await session.forget()
    return reply
  }

  /** Uploads 1 to 10 files. Tried again with the same `idempotencyKey` they are not stored twice. */
  function uploading<P extends string>(path: P & Path<'post', P>) {
    return async (input: QueryOf<'post', P> & Upload) => {
      const { files, onProgress, idempotencyKey = randomHex(), ...rest } = input
      const query = rest as Record<string, string | boolean>
      const headers = { 'idempotency-key': idempotencyKey }
      const bytes = await encodeForm(files)
      const content = { query, bytes, headers, ...(onProgress ? { onProgress } : {}) }
      return dataOf<'post', P>(await withToken((token) => call('post', path, token, content)))
    }
  }

  async function exchangeRefreshToken(refreshToken: string): Promise<Tokens> {
    const { response } = await call('post', '/api/auth/refresh/v1', null, {
      json: { refreshToken },
    })
    return response as Tokens
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

/** Where the input of a function goes: only GET and DELETE say all in the query. */
function inputLocationOf(method: Method): 'query' | 'json' {
  return method === 'get' || method === 'delete' ? 'query' : 'json'
}

function dataOf<M extends Method, P extends string>(envelope: Envelope): ReplyOf<M, P> {
  const { response, message } = envelope
  return (response === undefined ? { message } : response) as ReplyOf<M, P>
}

/** What the server may know of where it is asked from. */
function contextHeaders({ device, language }: ClientOptions): Record<string, string> {
  const { navigator } = globalThis as { navigator?: { languages?: readonly string[] } }
  const languages = language ?? navigator?.languages?.join(', ')
  return {
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    // A header takes ASCII alone, and people call their devices what they like.
    ...(device === undefined ? {} : { device: encodeURIComponent(device.replace(/\p{Cs}/gu, '')) }),
    ...(languages ? { 'accept-language': languages.replace(/[^ -~]/g, '') } : {}),
  }
}

/** Looked up when it is called, on its own object: browsers ask for that. */
const platformFetch: Fetch = (url, init) => globalThis.fetch(url, init)
