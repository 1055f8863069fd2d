import type { CallOptions, Client } from './api.ts'
import type { ApiError } from './api-error.ts'
import { randomHex } from './bytes.ts'
import { type Call, createCaller, type Envelope } from './caller.ts'
import { type AppOnDevice, contextHeaders } from './context-headers.ts'
import { formOf, type UploadInput } from './form.ts'
import { addressOf, openTransport } from './open-transport.ts'
import { DEFAULT_TIMEOUT, type Patience, withPatience } from './patience.ts'
import type { Session } from './person-types.ts'
import type { InputOf, Method, ReplyOf, Route } from './routes.ts'
import { createSessionKeeper, isSessionEnded, isTokenRefused, sessionIn } from './session.ts'
import { checkInput, createSigningIn } from './signing-in.ts'
import { inMemory, type Storage } from './storage.ts'
import { createAuthChanges, inOneTab } from './tabs.ts'
import { createTransmit, type Fetch } from './transmit.ts'
import type { AttachmentPage, ListedAttachment, Subscription } from './types.ts'

export type { ErrorCode } from '../lib/errors.ts'
export type { CallOptions, Client, PageInput } from './api.ts'
export { ApiError, type ErrorDetail } from './api-error.ts'
export type { PhoneFile, UploadFile, UploadInput } from './form.ts'
export type { Progress } from './patience.ts'
export type * from './person-types.ts'
export type { Storage } from './storage.ts'
export type { AuthChange, AuthChangeReason } from './tabs.ts'
export type * from './types.ts'
export { type InstalledApp, isUpdateAvailable, isUpdateRequired } from './updates.ts'

export type ClientOptions = {
  /** Where the server is, such as `https://api.example.com`. */
  baseUrl: string
  /** `test` (the default) sends plain; any other word, such as `production`, seals. */
  env?: string | null
  /** Thumbprints of the keys to seal for, as `homeport keys list` prints them. */
  pinnedKeys?: string[]
  /** Where the session is kept; without it in memory alone. */
  storage?: Storage | undefined
  /** What a person recognises this device by. */
  device?: string
  /** What app this is, for settings that depend on it. */
  app?: AppOnDevice
  /** Languages as in `Accept-Language`; the platform's without it. */
  language?: string
  /** Milliseconds until a call fails with `timeout`, 30,000 without it, `Infinity` for never; of an upload, without any progress, times the number of files. */
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

const SIGNED_OUT = 'Signed out on this device.'
const ATTACHMENTS = '/api/user/attachments/v1'

/** Homeport for an app: a function for each endpoint, which returns its data or throws an `ApiError`. */
export function createClient(options: ClientOptions): Client {
  const { storage = inMemory(), now = Date.now, timeout = DEFAULT_TIMEOUT } = options
  const { fetch, onSignedOut, pinnedKeys } = options
  const baseUrl = addressOf(options.baseUrl)
  // What a build makes of a variable that is not set is none, for the server too.
  const env = /^(null|undefined)?$/.test(options.env ?? '') ? 'test' : String(options.env)
  const send = openTransport({ baseUrl, env, pinnedKeys }, createTransmit(fetch), now)
  const call = createCaller(send, () => contextHeaders(options), now)
  const sharedName = `homeport.session ${baseUrl}`
  const changes = createAuthChanges(
    options.storage ? sharedName : null,
    async () => (await session.read())?.expiresAt ?? null,
  )
  const session = createSessionKeeper({
    storage,
    baseUrl,
    exclusively: (work) => inOneTab(sharedName, work),
    exchangeRefreshToken,
    onChange: changes.announce,
    now,
  })
  const { signingIn, signingUp, startAsGuest } = createSigningIn({
    call,
    session,
    withToken,
    patiently,
    exclusively: (work) => inOneTab(`${sharedName} guest`, work),
    now,
  })
  /** The user whose deletion was sent, and not answered. */
  let maybeDeleted: string | null = null
  if (onSignedOut) changes.listen(({ reason }) => reason === 'session_ended' && onSignedOut())

  return {
    isSignedIn: async () => (await session.read()) !== null,
    accessToken: (options) =>
      patiently(options, async () => (await session.readFresh()).accessToken),
    onAuthChange: changes.listen,

    register: signingUp('/api/auth/register/v1', { keepsGuest: true }),
    login: signingUp('/api/auth/login/v1', { asGuestOnly: true }),
    // The challenge remembers the guest of the first step.
    passTwoFactor: signingIn('/api/auth/login/v1/two_factor'),
    signInSocially: signingUp('/api/auth/social/v1'),
    startAsGuest,
    refresh: (options) =>
      patiently(options, async () => {
        await session.renew((await session.read())?.accessToken ?? '')
      }),
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
    deleteProfile,
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
    return (...given) =>
      calling(given, as, async (content) => dataOf<M, P>(await call(method, path, null, content)))
  }

  function asUser<M extends Method, P extends string>(
    method: M,
    path: P & Path<M, P>,
    as: 'query' | 'json' | null = null,
  ): Fn<M, P> {
    return (...given) =>
      calling(given, as, async (content) =>
        dataOf<M, P>(await withToken((token) => call(method, path, token, content))),
      )
  }

  async function calling<T>(
    given: unknown[],
    as: 'query' | 'json' | null,
    work: (content: Call) => Promise<T>,
  ): Promise<T> {
    const [input, options] = as === null ? [undefined, given[0]] : given
    if (as === 'json') checkInput(input)
    return patiently(options as CallOptions | undefined, (patience) =>
      work({ ...(as === null ? {} : { [as]: input }), patience }),
    )
  }

  function patiently<T>(
    options: CallOptions = {},
    work: (patience: Patience) => Promise<T>,
  ): Promise<T> {
    return withPatience({ signal: options.signal, timeout: options.timeout ?? timeout }, work)
  }

  /** When the reply was lost and the account is gone at the next try, the first one has deleted it. */
  async function deleteProfile(options?: CallOptions) {
    const owner = (await session.read())?.userId ?? null
    try {
      const reply = await asUser('delete', '/api/user/profile/v1')(options)
      await session.forget('account_deleted')
      return reply
    } catch (error) {
      if (isSessionEnded(error) && owner !== null && owner === maybeDeleted) {
        return { message: 'The account is deleted.' }
      }
      if (/^(network_error|timeout|aborted)$/.test((error as ApiError).code)) maybeDeleted = owner
      throw error
    }
  }

  /** Whatever is answered, nobody stays signed in here; it does not wait for a refresh. */
  async function logout(options?: CallOptions) {
    try {
      const envelope = await patiently(options, async (patience) => {
        const kept = await session.read()
        if (kept === null) return { code: 'ok', message: SIGNED_OUT }
        const ask = (token: string) => call('post', '/api/auth/logout/v1', token, { patience })
        return ask(kept.accessToken).catch(async (error) => {
          if (!isTokenRefused(error)) throw error
          return ask((await exchangeRefreshToken(kept.refreshToken)).accessToken)
        })
      })
      return dataOf<'post', '/api/auth/logout/v1'>(envelope)
    } catch (error) {
      if (/^(aborted|storage_failed)$/.test((error as ApiError).code)) throw error
      return { message: SIGNED_OUT }
    } finally {
      await session.forget('signed_out')
    }
  }

  async function uploadAttachments(upload: UploadInput, options: CallOptions = {}) {
    const { files, onProgress = () => {}, idempotencyKey = randomHex(), ...query } = upload ?? {}
    if (!Array.isArray(files) || !files.every((file) => typeof file?.name === 'string')) {
      throw new TypeError('uploadAttachments needs files, each with a name.')
    }
    const headers = { 'idempotency-key': idempotencyKey }
    // The server works on each file once all have arrived.
    const longest = (options.timeout ?? timeout) * Math.max(files.length, 1)
    return patiently({ ...options, timeout: longest }, async (patience) => {
      const content = await formOf(files, env !== 'test', fetch)
      const { response } = await withToken((token) =>
        call('post', ATTACHMENTS, token, {
          query,
          content,
          headers,
          patience: { ...patience, onProgress },
        }),
      )
      return response as ReplyOf<'post', typeof ATTACHMENTS>
    })
  }

  function listAttachments(
    query: { limit?: number; after?: string } = {},
    options?: CallOptions,
  ): Promise<AttachmentPage> {
    return patiently(options, async (patience) => {
      const { response, next = null } = await withToken((token) =>
        call('get', ATTACHMENTS, token, { query, patience }),
      )
      return { attachments: response as ListedAttachment[], next }
    })
  }

  /** For all who wait: nobody's own signal or time ends it. */
  function exchangeRefreshToken(refreshToken: string): Promise<Session> {
    return patiently({}, async (patience) => {
      const json = { refreshToken }
      const envelope = await call('post', '/api/auth/refresh/v1', null, { json, patience })
      return sessionIn(envelope) as Session
    })
  }

  /**
   * Asks with an access token, and once more with a new one where it is refused: it may have expired, or been
   * taken off on the way. The session has ended only when it cannot be refreshed.
   */
  async function withToken<T>(ask: (token: string) => Promise<T>): Promise<T> {
    const { accessToken, userId } = await session.readFresh()
    try {
      return await ask(accessToken)
    } catch (error) {
      // What somebody on the way says must not make us do it twice.
      if (!isTokenRefused(error)) throw error
      const next = await session.renew(accessToken)
      // What was meant for one person must not be done as another who signed in meanwhile.
      if (next.userId !== userId) throw error
      return ask(next.accessToken)
    }
  }
}

function dataOf<M extends Method, P extends string>(envelope: Envelope): ReplyOf<M, P> {
  const { response, message } = envelope
  return (response === undefined ? { message } : response) as ReplyOf<M, P>
}
