import type { AppFunctions } from './app-data.ts'
import type { AttachmentFunctions, UploadInput } from './attachments.ts'
import { createAuth, createRefreshExchange } from './auth.ts'
import type { BillingFunctions } from './billing.ts'
import { randomHex } from './bytes.ts'
import { createCaller } from './caller.ts'
import { createCalls, unwrap } from './calls.ts'
import { createChanges } from './changes.ts'
import { type AppContext, contextHeaders } from './context-headers.ts'
import type { DataCondition, DataFunctions } from './data.ts'
import { DEFAULT_TIMEOUT_MS, type RunCall, withDeadline } from './deadline.ts'
import { encodeUpload } from './form.ts'
import type {
  AccountExport,
  AttachmentExport,
  BillingExport,
  ChangesExport,
  DataExport,
  PasskeyExport,
  UsageExport,
} from './models.ts'
import { normalizeBaseUrl, openTransport } from './open-transport.ts'
import type { PasskeyFunctions } from './passkeys.ts'
import type { InputOf, ReplyOf, SameAsRoutes } from './routes.ts'
import { createSessionKeeper, userChanged } from './session.ts'
import type { CallOptions } from './shared-types.ts'
import { createMemoryStorage, type Storage } from './storage.ts'
import type { StoreFunctions } from './stores.ts'
import { createAuthChanges, withTabLock } from './tabs.ts'
import { createTransmit, type Fetch } from './transmit.ts'
import type { UsageFunctions } from './usage.ts'
import type { ChangeFunctions } from './user-changes.ts'
import type { UserFunctions } from './users.ts'

export type { ErrorCode } from '../lib/errors.ts'
export { ApiError, type ErrorDetail } from './api-error.ts'
export type * from './app-data.ts'
export type * from './attachments.ts'
export type * from './billing.ts'
export type { AppContext } from './context-headers.ts'
export type * from './data.ts'
export type { Progress } from './deadline.ts'
export type * from './models.ts'
export type * from './passkeys.ts'
export type { CallOptions, Message, PageInput } from './shared-types.ts'
export type { Storage } from './storage.ts'
export type * from './stores.ts'
export type { AuthChange, AuthChangeReason } from './tabs.ts'
export { type InstalledApp, isUpdateAvailable, isUpdateRequired } from './updates.ts'
export type * from './usage.ts'
export type * from './user-changes.ts'
export type * from './users.ts'

/** The options of `createClient`; only `baseUrl` is required. */
export type ClientOptions = {
  /** The server's address, such as `https://api.example.com`. */
  baseUrl: string
  /** `test` (the default) sends plain JSON; any other word, such as `production`, seals payloads. */
  env?: string | null
  /** Thumbprints of the server keys to trust, as `homeport keys list` prints them. */
  pinnedKeys?: string[]
  /** Where to keep the session; in memory by default. */
  storage?: Storage | undefined
  /** A name by which users recognize this device. */
  device?: string
  /** The installed app, for settings that depend on it. `isUpdateRequired` takes the same object. */
  app?: AppContext
  /** Languages as in `Accept-Language`; the platform's by default. */
  language?: string
  /** Milliseconds until a call fails with `timeout`; 30,000 by default, `Infinity` for no limit. For an upload: milliseconds without progress, times the number of files. */
  timeout?: number
  /** Called when the server has ended the session. */
  onSignedOut?: () => void
  /** Replaces the platform's `fetch`, for example in tests. */
  fetch?: Fetch
  /** Replaces the platform's clock in tests. Returns ms since 1970. */
  now?: () => number
}

const ATTACHMENTS = '/api/user/attachments/v1'
const PASSKEYS = '/api/auth/passkey/v1'
const DATA = '/api/user/data/v1'

/** The query of an upload, and the options that only the client uses. */
type Upload = InputOf<'post', typeof ATTACHMENTS>[0] &
  Pick<UploadInput, 'files' | 'idempotencyKey' | 'onProgress'>

/** All data that the server stores about a user. */
export type UserExport = AccountExport &
  PasskeyExport &
  AttachmentExport &
  BillingExport &
  UsageExport &
  DataExport &
  ChangesExport

/**
 * Homeport for an app: a function per endpoint. Each returns the data of the response or throws an `ApiError`, or a
 * TypeError if its input is missing. Every function may throw `network_error`, `timeout`, `aborted`, `reply_invalid`,
 * `storage_failed` and `rate_limited`; those for signed-in users may throw `unauthenticated`: `isSignedIn` then says
 * whether the session has ended.
 */
export type Client = UserFunctions &
  PasskeyFunctions &
  AttachmentFunctions &
  DataFunctions &
  BillingFunctions &
  StoreFunctions &
  UsageFunctions &
  AppFunctions &
  ChangeFunctions &
  ExportFunctions

type ExportFunctions = {
  /** Returns all data that the server stores about the user. */
  exportData: (options?: CallOptions) => Promise<UserExport>
}

/**
 * Creates a client for one server. An app needs one, which all its screens share. It sends nothing until a function is
 * called, and continues the session in `storage`. Throws a TypeError if `baseUrl` is not an address.
 */
export function createClient(options: ClientOptions): Client {
  const { storage = createMemoryStorage(), now = Date.now, timeout = DEFAULT_TIMEOUT_MS } = options
  const { fetch, onSignedOut, pinnedKeys } = options
  const baseUrl = normalizeBaseUrl(options.baseUrl)
  // Build tools turn an unset variable into one of these words.
  const env = /^(null|undefined)?$/.test(options.env ?? '') ? 'test' : String(options.env)
  const send = openTransport({ baseUrl, env, pinnedKeys }, createTransmit(fetch), now)
  const call = createCaller(send, () => contextHeaders(options), now)
  const runCall: RunCall = (call, work) =>
    withDeadline({ signal: call?.signal, timeout: call?.timeout ?? timeout }, work)
  const sharedName = `homeport.session ${baseUrl}`
  const authChanges = createAuthChanges(
    options.storage ? sharedName : null,
    async () => (await session.read())?.expiresAt ?? null,
  )
  const exchangeRefreshToken = createRefreshExchange(call, runCall)
  const session = createSessionKeeper({
    storage,
    baseUrl,
    exclusively: (work) => withTabLock(sharedName, work),
    exchangeRefreshToken,
    onChange: authChanges.announce,
    now,
  })
  const calls = createCalls({ call, session, runCall })
  const { asUser, asUserIfAny, withoutToken, withToken } = calls
  const { signInAt, signInWithGuestAt, startAsGuest, logout, deleteProfile } = createAuth({
    call,
    calls,
    session,
    runCall,
    exchangeRefreshToken,
    exclusively: (work) => withTabLock(`${sharedName} guest`, work),
    now,
  })
  if (onSignedOut) authChanges.listen(({ reason }) => reason === 'session_ended' && onSignedOut())

  const functions = {
    isSignedIn: async () => (await session.read()) !== null,
    accessToken: (options?: CallOptions) =>
      runCall(options, async () => (await session.readFresh()).accessToken),
    onAuthChange: authChanges.listen,
    onChange: createChanges({
      call,
      withToken,
      session,
      runCall,
      onAuthChange: authChanges.listen,
    }),

    register: signInWithGuestAt('/api/auth/register/v1', { keepsGuestId: true }),
    login: signInWithGuestAt('/api/auth/login/v1', { guestsOnly: true }),
    // The challenge remembers the guest of the first step.
    passTwoFactor: signInAt('/api/auth/login/v1/two_factor'),
    signInSocially: signInWithGuestAt('/api/auth/social/v1'),
    requestEmailCode: withoutToken('post', '/api/auth/email_code/v1', 'json'),
    signInWithEmailCode: signInWithGuestAt('/api/auth/email_code/v1/verify'),
    startPasskeySignIn: withoutToken('post', `${PASSKEYS}/sign_in/options`),
    signInWithPasskey: signInWithGuestAt(`${PASSKEYS}/sign_in`, { guestsOnly: true }),
    listPasskeys: asUser('get', PASSKEYS),
    startPasskeyRegistration: asUser('post', `${PASSKEYS}/options`, 'json'),
    addPasskey: asUser('post', PASSKEYS, 'json'),
    renamePasskey: asUser('patch', PASSKEYS, 'json'),
    removePasskey: asUser('delete', PASSKEYS, 'query'),
    startAsGuest,
    refresh: (options?: CallOptions) =>
      runCall(options, async () => {
        await session.renew(await session.read())
      }),
    logout,
    listSessions: asUser('get', '/api/auth/sessions/v1'),
    endSession: asUser('delete', '/api/auth/sessions/v1', 'query'),
    changePassword: asUser('patch', '/api/auth/password/v1', 'json'),
    forgotPassword: withoutToken('post', '/api/auth/password/v1/forgot', 'json'),
    resetPassword: withoutToken('post', '/api/auth/password/v1/reset', 'json'),
    verifyEmail: withoutToken('post', '/api/auth/email/v1/verify', 'json'),
    resendVerification: asUser('post', '/api/auth/email/v1/resend'),
    changeEmail: asUser('post', '/api/auth/email/v1/change', 'json'),
    cancelEmailChange: withoutToken('post', '/api/auth/email/v1/cancel', 'json'),
    unlinkProvider: asUser('delete', '/api/auth/social/v1', 'query'),
    setUpTwoFactor: asUser('post', '/api/auth/two_factor/v1', 'json'),
    confirmTwoFactor: asUser('post', '/api/auth/two_factor/v1/confirm', 'json'),
    renewRecoveryCodes: asUser('post', '/api/auth/two_factor/v1/recovery_codes', 'json'),
    disableTwoFactor: asUser('delete', '/api/auth/two_factor/v1', 'json'),
    readProfile: asUser('get', '/api/user/profile/v1'),
    changeProfile: asUser('patch', '/api/user/profile/v1', 'json'),
    deleteProfile,
    exportData: asUser('get', '/api/user/export/v1'),

    readData: asUser('get', DATA),
    replaceData: changeDataWith('put'),
    patchData: changeDataWith('patch'),

    uploadAttachments,
    listAttachments,
    readAttachment: asUser('get', `${ATTACHMENTS}/download`, 'query'),
    deleteAttachment: asUser('delete', ATTACHMENTS, 'query'),

    readSubscription: asUser('get', '/api/user/subscription/v1', 'query'),
    readUsage: asUser('get', '/api/user/usage/v1'),
    submitPurchases: asUser('post', '/api/user/purchases/v1', 'json'),

    readAppSettings: asUserIfAny('get', '/api/user/app_settings/v1'),
    readPricingPlans: withoutToken('get', '/api/user/pricing_plans/v1', 'query'),
    readCurrencyRates: withoutToken('get', '/api/user/currency_rates/v1'),
    readContentVersions: withoutToken('get', '/api/user/content_version/v1'),
    readFaqs: withoutToken('get', '/api/user/faqs/v1', 'query'),
  }
  return functions satisfies SameAsRoutes<Client, typeof functions>

  /** Creates the function for a route with both a body and a query. */
  function changeDataWith<M extends 'put' | 'patch'>(method: M) {
    return async (
      json: InputOf<M, typeof DATA>[0],
      { version }: DataCondition = {},
      options?: CallOptions,
    ): Promise<ReplyOf<M, typeof DATA>> => {
      if (typeof json !== 'object' || json === null)
        throw new TypeError('The first argument must be the data, an object.')
      return runCall(options, async (deadline) => {
        const content = { json, query: { version }, deadline }
        return unwrap<M, typeof DATA>(
          await withToken((token) => call(method, DATA, token, content)),
        )
      })
    }
  }

  async function uploadAttachments(
    upload: Upload,
    options: CallOptions = {},
  ): Promise<ReplyOf<'post', typeof ATTACHMENTS>> {
    const { files, onProgress = () => {}, idempotencyKey = randomHex(), ...query } = upload ?? {}
    if (!Array.isArray(files) || !files.every((file) => typeof file?.name === 'string')) {
      throw new TypeError('uploadAttachments needs files, each with a name.')
    }
    const headers = { 'idempotency-key': idempotencyKey }
    // The server processes the files after the last one has arrived.
    const uploadTimeout = (options.timeout ?? timeout) * Math.max(files.length, 1)
    return runCall({ ...options, timeout: uploadTimeout }, async (callDeadline) => {
      const sender = (await session.read())?.userId
      const content = await encodeUpload(files, env !== 'test', fetch)
      // Reading the files may have taken long enough for another user to sign in.
      if ((await session.read())?.userId !== sender) throw userChanged()
      const deadline = { ...callDeadline, onProgress }
      const envelope = await withToken((token) =>
        call('post', ATTACHMENTS, token, { query, content, headers, deadline }),
      )
      return unwrap<'post', typeof ATTACHMENTS>(envelope)
    })
  }

  function listAttachments(
    query: InputOf<'get', typeof ATTACHMENTS>[0] = {},
    options?: CallOptions,
  ): Promise<{ attachments: ReplyOf<'get', typeof ATTACHMENTS>; next: string | null }> {
    return runCall(options, async (deadline) => {
      const envelope = await withToken((token) =>
        call('get', ATTACHMENTS, token, { query, deadline }),
      )
      const attachments = unwrap<'get', typeof ATTACHMENTS>(envelope)
      return { attachments, next: envelope.next ?? null }
    })
  }
}
