import type { UploadInput } from './form.ts'
import type * as P from './person-types.ts'
import type { AuthChange } from './tabs.ts'
import type * as T from './types.ts'

/** How one call is made, over what the client was made with. */
export type CallOptions = {
  /** Breaks the call off: it fails at once with code `aborted`, whatever it waits for. */
  signal?: AbortSignal
  /** Milliseconds until the whole call fails with code `timeout`, `Infinity` for never; of an upload, without any progress, times the number of files. */
  timeout?: number
}

/** What listing and paging takes. */
export type PageInput = {
  /** How many at most; 50 without it, 100 at most. */
  limit?: number
  /** `next` of the page before. */
  after?: string
}

type Languages = {
  /** A language tag, over that of the client. */
  lang?: string
}

/**
 * Homeport for an app: a function for each endpoint. Each returns the data of the reply, or throws an
 * `ApiError`, or a TypeError where what it takes is missing; every one may throw `network_error`, `timeout`, `aborted`, `reply_invalid`, `storage_failed` and
 * `rate_limited`, and those of a signed-in person `unauthenticated`: then `isSignedIn` says whether the session
 * has ended.
 */
export type Client = {
  /** Whether a session is kept on this device; the server may have ended it. */
  isSignedIn(): Promise<boolean>
  /** A token for the app's other services, refreshed when it must be. Throws `unauthenticated`. */
  accessToken(options?: CallOptions): Promise<string>
  /** Calls `listener` whenever the session changes, in other tabs too. Returns what ends that. */
  onAuthChange(listener: (change: AuthChange) => void): () => void

  /** Makes an account and signs in; a guest becomes that account. Throws `email_taken`, `validation_failed`, `session_ended` when the guest cannot be refreshed, `token_lost`. */
  register(account: P.NewAccount, options?: CallOptions): Promise<P.Session>
  /** Signs in, or returns a challenge where two-factor is on; the account takes over what a guest has. Throws `invalid_credentials`, `session_ended` as `register` does. */
  login(credentials: P.Credentials, options?: CallOptions): Promise<P.SignInResult>
  /** The second step of signing in. `code`: of the authenticator app, or a recovery code. Throws `invalid_credentials`. */
  passTwoFactor(
    answer: { challengeToken: string; code: string },
    options?: CallOptions,
  ): Promise<P.Session>
  /** Signs in with Google or Apple; a guest becomes that account, or it takes over what the guest has. Throws `unauthenticated`, `session_ended` as `register` does. */
  signInSocially(login: P.SocialLogin, options?: CallOptions): Promise<P.SignInResult>
  /** Starts without credentials, or goes on as the guest who is there. Throws `conflict` while a user is signed in. `register`, `login` and `signInSocially` keep what the guest has. */
  startAsGuest(options?: CallOptions): Promise<P.Session>
  /** Fetches new tokens. The client does so by itself when it must. */
  refresh(options?: CallOptions): Promise<void>
  /** Ends the session on the server, where it can be reached, and forgets it here in any case. */
  logout(options?: CallOptions): Promise<P.Message>
  /** The devices that are signed in, the last used first. */
  listSessions(options?: CallOptions): Promise<P.Device[]>
  /** Signs a device out. `id`: of the session, or `others` for all but this one. Throws `not_found`. */
  endSession(which: { id: string }, options?: CallOptions): Promise<P.Message>
  /** Other devices are signed out. Throws `invalid_credentials`, `validation_failed`. */
  changePassword(
    passwords: { currentPassword: string; newPassword: string },
    options?: CallOptions,
  ): Promise<P.Message>
  /** Sends a mail with a link, if there is such an account. */
  forgotPassword(account: { email: string }, options?: CallOptions): Promise<P.Message>
  /** Sets a password with the token of that mail; all devices are signed out. Throws `unauthenticated` for an old link. */
  resetPassword(
    reset: { token: string; newPassword: string },
    options?: CallOptions,
  ): Promise<P.Message>
  /** Confirms an address with the token of its mail. Throws `unauthenticated` for an old link. */
  verifyEmail(link: { token: string }, options?: CallOptions): Promise<P.Message>
  /** Sends that mail once more. Throws `conflict` when there is nothing to confirm. */
  resendVerification(options?: CallOptions): Promise<P.Message>
  /** Sends a mail to the new address; until its link is opened nothing changes. Throws `email_taken`, `invalid_credentials`. */
  changeEmail(
    change: { password: string; email: string },
    options?: CallOptions,
  ): Promise<P.Message>
  /** Ends a change of address with the token that the old one was sent. */
  cancelEmailChange(link: { token: string }, options?: CallOptions): Promise<P.Message>
  /** Unlinks Google or Apple. Throws `conflict` when it is the only way to sign in. */
  unlinkProvider(which: { provider: 'google' | 'apple' }, options?: CallOptions): Promise<P.Message>
  /** Makes a secret for an authenticator app. Throws `invalid_credentials`, `conflict` when two-factor is on. */
  setUpTwoFactor(proof: { password: string }, options?: CallOptions): Promise<P.TwoFactorSetup>
  /** Switches two-factor on with a first code; the same code may be sent again for five minutes. Throws `invalid_credentials`. */
  confirmTwoFactor(proof: { code: string }, options?: CallOptions): Promise<P.RecoveryCodes>
  /** Replaces the recovery codes. Throws `invalid_credentials`, `conflict` when two-factor is off. */
  renewRecoveryCodes(
    proof: { password: string; code: string },
    options?: CallOptions,
  ): Promise<P.RecoveryCodes>
  /** Switches two-factor off. Throws `invalid_credentials`. */
  disableTwoFactor(
    proof: { password: string; code: string },
    options?: CallOptions,
  ): Promise<P.Message>

  /** The person who is signed in. */
  readProfile(options?: CallOptions): Promise<P.UserProfile>
  /** Changes what is named and returns the whole. Throws `validation_failed`. */
  changeProfile(changes: P.ProfileChanges, options?: CallOptions): Promise<P.UserProfile>
  /** Deletes the account with everything in it, for good. Call it again when the reply was lost. */
  deleteProfile(options?: CallOptions): Promise<P.Message>
  /** Everything that the server holds about the person. */
  exportData(options?: CallOptions): Promise<Record<string, unknown>>
  /** Uploads 1 to 10 files of at most 25 MiB. Throws `unsupported_media_type`, `payload_too_large`, `quota_exceeded`, `image_unreadable`, `image_too_large`, `insufficient_storage`. */
  uploadAttachments(upload: UploadInput, options?: CallOptions): Promise<T.Attachment[]>
  /** A page of the person's files, the newest first. */
  listAttachments(page?: PageInput, options?: CallOptions): Promise<T.AttachmentPage>
  /** A file with a fresh URL. Throws `not_found`. */
  readAttachment(which: { key: string }, options?: CallOptions): Promise<T.AttachmentDetails>
  /** Deletes a file. Throws `not_found`. */
  deleteAttachment(which: { key: string }, options?: CallOptions): Promise<P.Message>
  /** What the person has paid for. */
  readSubscription(
    view?: { environment?: 'production' | 'sandbox' } & Languages,
    options?: CallOptions,
  ): Promise<T.Subscription>

  /** What every copy of the app should know; see `isUpdateRequired`. */
  readAppSettings(options?: CallOptions): Promise<T.AppSettings>
  /** The pricing plans on sale. */
  readPricingPlans(language?: Languages, options?: CallOptions): Promise<T.PricingPlan[]>
  /** What currencies cost. */
  readCurrencyRates(options?: CallOptions): Promise<T.CurrencyRates>
  /** How often each kind of content was edited. */
  readContentVersions(options?: CallOptions): Promise<T.ContentVersions>
  /** Questions and answers. */
  readFaqs(language?: Languages, options?: CallOptions): Promise<T.Faq[]>
}
