import type { AppFunctions } from './app-data.ts'
import type { Upload } from './attachment-calls.ts'
import type { AttachmentFunctions } from './attachments.ts'
import type { GuestOptions } from './auth.ts'
import type { BillingFunctions } from './billing.ts'
import { type Caller, createCaller } from './caller.ts'
import { createCalls, unwrap } from './calls.ts'
import { contextHeaders } from './context-headers.ts'
import {
  DATA,
  type DataCondition,
  type DataFunctions,
  type DataSync,
  type DataSyncOptions,
  forgetDocument,
} from './data.ts'
import { DEFAULT_TIMEOUT_MS, type RunCall, withDeadline } from './deadline.ts'
import {
  forgetKept,
  KEPT_NAMES,
  type Kept,
  type KeptFunctions,
  type KeptName,
  type KeptValues,
} from './kept-values.ts'
import type { Session, SubmittedPurchase } from './models.ts'
import { normalizeBaseUrl, openTransport } from './open-transport.ts'
import type { ClientOptions } from './options.ts'
import { createPart, follow } from './part.ts'
import type { PasskeyFunctions } from './passkeys.ts'
import type { InputOf, PathOf, ReplyOf, RouteFunction, SameAsRoutes } from './routes.ts'
import { createSessionKeeper } from './session.ts'
import { readSession } from './session-replies.ts'
import type { CallOptions, LanguageInput } from './shared-types.ts'
import { openStorage } from './storage.ts'
import type { StoreFunctions } from './stores.ts'
import { createAuthChanges, withTabLock } from './tabs.ts'
import { createTransmit } from './transmit.ts'
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
export type { Kept, KeptFunctions, KeptName, KeptValues } from './kept-values.ts'
export type * from './models.ts'
export type { ClientOptions } from './options.ts'
export type * from './passkeys.ts'
export { findRate } from './rates.ts'
export type { CallOptions, Message, PageInput } from './shared-types.ts'
export type { Storage } from './storage.ts'
export type * from './stores.ts'
export type { AuthChange, AuthChangeReason } from './tabs.ts'
export { type InstalledApp, isUpdateAvailable, isUpdateRequired } from './updates.ts'
export type * from './usage.ts'
export type * from './user-changes.ts'
export type * from './users.ts'

const ATTACHMENTS = '/api/user/attachments/v1'
const PASSKEYS = '/api/auth/passkey/v1'
const LOGOUT = '/api/auth/logout/v1'
const REFRESH = '/api/auth/refresh/v1'

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
  KeptFunctions &
  ChangeFunctions

/**
 * Creates a client for one server. An app needs one, which all its screens share. It sends nothing until a function is
 * called, and continues the session in `storage`. Throws a TypeError if `baseUrl` is not a URL.
 */
export function createClient(options: ClientOptions): Client {
  const { now = Date.now, timeout = DEFAULT_TIMEOUT_MS, fetch, onSignedOut, pinnedKeys } = options
  const storage = openStorage(options.storage)
  const offlineStorage = openStorage(options.offlineStorage, storage)
  const baseUrl = normalizeBaseUrl(options.baseUrl)
  // Build tools turn an unset variable into one of these words.
  const env = /^(null|undefined)?$/.test(options.env ?? '') ? 'test' : String(options.env)
  const send = openTransport({ baseUrl, env, pinnedKeys }, createTransmit(fetch), now)
  const request = createCaller(send, () => contextHeaders(options), now)
  /** Reads go through the part that keeps responses; if it fails to load, they still work. */
  const call: Caller = async (method, path, token, content) => {
    const name = method === 'get' && KEPT_NAMES.get(path)
    const kept = name && (await parts.kept().catch(() => null))
    return kept ? kept.fetch(name, path, token, content) : request(method, path, token, content)
  }
  const runCall: RunCall = (call, work) =>
    withDeadline({ signal: call?.signal, timeout: call?.timeout ?? timeout }, work)
  const sharedName = `homeport.session ${baseUrl}`
  const authChanges = createAuthChanges(
    options.storage ? sharedName : null,
    async () => (await session.read())?.expiresAt ?? null,
  )
  const session = createSessionKeeper({
    storage,
    baseUrl,
    exclusively: (work) => withTabLock(sharedName, work),
    exchangeRefreshToken,
    onChange: async (state, previousUserId) => {
      authChanges.announce(state)
      await forgetKept(offlineStorage, state.userId)
      await forgetDocument(offlineStorage, state.reason, previousUserId)
    },
    now,
  })
  const calls = createCalls({ call, session, runCall })
  const { asUser, asUserIfAny, withoutToken, withToken } = calls
  const { listen: onAuthChange } = authChanges
  if (onSignedOut) onAuthChange(({ reason }) => reason === 'session_ended' && onSignedOut())
  const shared = {
    ...{ storage: offlineStorage, baseUrl, timeout, now, fetch, call, withToken },
    ...{ session, runCall, onAuthChange },
  }
  /** The parts that an app does not need for its first screen: each is loaded at first use. */
  const parts = {
    auth: createPart(async () => {
      const { createAuth } = await import('./auth.ts')
      const exclusively = <T>(work: () => Promise<T>) => withTabLock(`${sharedName} guest`, work)
      return createAuth({ ...shared, calls, exchangeRefreshToken, exclusively })
    }),
    attachments: createPart(async () => {
      const { createAttachmentCalls } = await import('./attachment-calls.ts')
      return createAttachmentCalls({ ...shared, isSealed: env !== 'test' })
    }),
    changes: createPart(async () => (await import('./changes.ts')).createChanges(shared)),
    purchases: createPart(async () =>
      (await import('./purchase-queue.ts')).createPurchaseQueue(shared),
    ),
    kept: createPart(async () => {
      const { createKept } = await import('./kept.ts')
      const { signingKeys } = options
      // The type is stated because these functions also call the parts: inferred, it would be circular.
      const reads: UserFunctions & BillingFunctions & AppFunctions = functions
      return createKept({ ...shared, call: request, signingKeys, functions: reads })
    }),
    dataSync: createPart(() => import('./data-sync.ts')),
  }

  const functions = {
    isSignedIn: async () => (await session.read()) !== null,
    accessToken: (options?: CallOptions) =>
      runCall(options, async () => (await session.readFresh()).accessToken),
    onAuthChange,
    onChange: follow(parts.changes),

    register: signInAt('/api/auth/register/v1', { keepsGuestId: true }),
    login: signInAt('/api/auth/login/v1', { guestsOnly: true }),
    // The challenge remembers the guest of the first step.
    passTwoFactor: signInAt('/api/auth/login/v1/two_factor', { sendsToken: false }),
    signInSocially: signInAt('/api/auth/social/v1'),
    requestEmailCode: withoutToken('post', '/api/auth/email_code/v1', 'json'),
    signInWithEmailCode: signInAt('/api/auth/email_code/v1/verify'),
    startPasskeySignIn: withoutToken('post', `${PASSKEYS}/sign_in/options`),
    signInWithPasskey: signInAt(`${PASSKEYS}/sign_in`, { guestsOnly: true }),
    listPasskeys: asUser('get', PASSKEYS),
    startPasskeyRegistration: asUser('post', `${PASSKEYS}/options`, 'json'),
    addPasskey: asUser('post', PASSKEYS, 'json'),
    renamePasskey: asUser('patch', PASSKEYS, 'json'),
    removePasskey: asUser('delete', PASSKEYS, 'query'),
    startAsGuest: async (options?: CallOptions) => (await parts.auth()).startAsGuest(options),
    refresh: (options?: CallOptions): Promise<void> =>
      runCall(options, async () => void (await session.renew(await session.read()))),
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
    deleteProfile: async (options?: CallOptions) => {
      const [auth, sender] = await withSender(parts.auth, options)
      return auth.deleteProfile(sender, options)
    },
    exportData: asUser('get', '/api/user/export/v1'),

    readData: asUser('get', DATA),
    replaceData: changeDataWith('put'),
    patchData: changeDataWith('patch'),
    syncData,

    uploadAttachments: async (upload: Upload, options?: CallOptions) => {
      const [attachments, sender] = await withSender(parts.attachments, options)
      return attachments.uploadAttachments(sender, upload, options)
    },
    listAttachments: async (query?: InputOf<'get', typeof ATTACHMENTS>[0], options?: CallOptions) =>
      (await parts.attachments()).listAttachments(query, options),
    readAttachment: asUser('get', `${ATTACHMENTS}/download`, 'query'),
    deleteAttachment: asUser('delete', ATTACHMENTS, 'query'),

    readSubscription: asUser('get', '/api/user/subscription/v1', 'query'),
    readUsage: asUser('get', '/api/user/usage/v1'),
    submitPurchases: asUser('post', '/api/user/purchases/v1', 'json'),
    queuePurchase: async (purchase: SubmittedPurchase) => {
      const [purchases, sender] = await withSender(parts.purchases)
      return purchases.queuePurchase(purchase, sender?.userId)
    },
    onPurchaseResult: follow(async () => (await parts.purchases()).onPurchaseResult),
    startCheckout: asUser('post', '/api/user/checkout/v1', 'json'),
    createPortalLink: asUser('post', '/api/user/billing_portal/v1', 'json'),

    readAppSettings: asUserIfAny('get', '/api/user/app_settings/v1'),
    readPricingPlans: withoutToken('get', '/api/user/pricing_plans/v1', 'query'),
    readCurrencyRates: withoutToken('get', '/api/user/currency_rates/v1'),
    readContentVersions: withoutToken('get', '/api/user/content_version/v1'),
    readFaqs: withoutToken('get', '/api/user/faqs/v1', 'query'),
    readKept: async <Name extends KeptName>(
      name: Name,
      language?: LanguageInput,
      options?: CallOptions,
    ): Promise<Kept<KeptValues[Name]>> => (await parts.kept()).readKept(name, language, options),
  }
  return functions satisfies SameAsRoutes<Client, typeof functions>

  /** Loads a part, and reads who calls it: another user may have signed in by the time it is loaded. */
  function withSender<T>(load: () => Promise<T>, options?: CallOptions) {
    return runCall(options, () => Promise.all([load(), session.read()]))
  }

  /** Shared by all callers: no caller's signal or timeout cancels it. */
  function exchangeRefreshToken(refreshToken: string): Promise<Session> {
    return runCall({}, async (deadline) => {
      const json: InputOf<'post', typeof REFRESH>[0] = { refreshToken }
      const envelope = await call('post', REFRESH, null, { json, deadline })
      return readSession(envelope) as ReplyOf<'post', typeof REFRESH>
    })
  }

  /** Signs out on this device immediately, whatever the server responds. */
  async function logout(options?: CallOptions): Promise<ReplyOf<'post', typeof LOGOUT>> {
    const kept = await session.read().catch(() => null)
    const forgotten = session.forget('signed_out')
    // A storage that fails must not keep the server from ending the session.
    await forgotten.catch(() => {})
    const auth = await parts.auth().catch(() => null)
    const reply = kept && (await auth?.endSession(kept, options))
    await forgotten
    return reply ?? { message: 'Signed out on this device.' }
  }

  function signInAt<P extends string>(
    path: P & PathOf<'post', P>,
    options?: GuestOptions,
  ): RouteFunction<'post', P> {
    return async (...args) => (await parts.auth()).signInAt<P>(path, options)(...args)
  }

  async function syncData(options: DataSyncOptions = {}): Promise<DataSync> {
    const { startDataSync } = await parts.dataSync()
    return startDataSync({ ...functions, ...shared }, options)
  }

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
        const reply = await withToken((token) => call(method, DATA, token, content))
        return unwrap<M, typeof DATA>(reply)
      })
    }
  }
}
