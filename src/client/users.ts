import type {
  AccountExport,
  ActiveSubscription,
  AttachmentExport,
  BillingExport,
  ChangesExport,
  Credentials,
  DataExport,
  Device,
  EmailCodeAnswer,
  EmailCodeRequest,
  NewAccount,
  PasskeyExport,
  ProfileChanges,
  RecoveryCodes,
  Session,
  SocialLogin,
  TwoFactorChallenge,
  TwoFactorSetup,
  UsageExport,
  UserProfile,
} from './models.ts'
import type { CallOptions, Message } from './shared-types.ts'
import type { AuthChange } from './tabs.ts'

/** The response to the deletion of an account. */
export type DeletedAccount = Message & {
  /** Subscriptions that continue at their stores; absent if there are none, or if the response was lost. */
  activeSubscriptions?: ActiveSubscription[]
}

/** A session, or a challenge if two-factor is on: check `'challengeToken' in result`. */
export type SignInResult = Session | TwoFactorChallenge

/** All data that the server stores about a user. */
export type UserExport = AccountExport &
  PasskeyExport &
  AttachmentExport &
  BillingExport &
  UsageExport &
  DataExport &
  ChangesExport

/** Accounts, sessions and profiles. */
export type UserFunctions = {
  /** Returns whether a session is stored on this device; the server may already have ended it. */
  isSignedIn: () => Promise<boolean>
  /** Returns an access token for the app's other services, refreshed if necessary. Throws `unauthenticated`. */
  accessToken: (options?: CallOptions) => Promise<string>
  /** Calls `listener` whenever the session changes, in other tabs too. Returns a function that stops it. */
  onAuthChange: (listener: (change: AuthChange) => void) => () => void

  /** Creates an account and signs in; a guest becomes that account. Throws `email_taken`, `validation_failed`, `session_ended` if the guest's session cannot be refreshed, `token_lost`. */
  register: (account: NewAccount, options?: CallOptions) => Promise<Session>
  /** Signs in, or returns a challenge if two-factor is on; a guest's data moves to the account. Throws `invalid_credentials`, and `session_ended` as `register` does. */
  login: (credentials: Credentials, options?: CallOptions) => Promise<SignInResult>
  /** Sends a six-digit code by e-mail. Keep `requestToken` until the user has entered the code. */
  requestEmailCode: (account: { email: string }, options?: CallOptions) => Promise<EmailCodeRequest>
  /** Signs in with the code from the e-mail, on the device that requested it; creates the account if there is none. A guest becomes that account, or the guest's data moves to an existing account. Throws `invalid_credentials`, and `session_ended` as `register` does. */
  signInWithEmailCode: (answer: EmailCodeAnswer, options?: CallOptions) => Promise<SignInResult>
  /** Completes a two-factor sign-in. `code`: from the authenticator app, or a recovery code. Throws `invalid_credentials`. */
  passTwoFactor: (
    answer: { challengeToken: string; code: string },
    options?: CallOptions,
  ) => Promise<Session>
  /** Signs in with Google, Apple or the server's OpenID Connect provider; a guest becomes that account, or the guest's data moves to an existing account. Throws `unauthenticated`, and `session_ended` as `register` does. */
  signInSocially: (login: SocialLogin, options?: CallOptions) => Promise<SignInResult>
  /** Signs in without credentials, or returns the current guest. Throws `conflict` if a user is signed in. Any later sign-in keeps the guest's data. */
  startAsGuest: (options?: CallOptions) => Promise<Session>
  /** Fetches new tokens. The client does this automatically when necessary. */
  refresh: (options?: CallOptions) => Promise<void>
  /** Ends the session on the server if it can be reached, and always on this device. */
  logout: (options?: CallOptions) => Promise<Message>
  /** Returns the signed-in devices, most recently used first. */
  listSessions: (options?: CallOptions) => Promise<Device[]>
  /** Signs a device out. `id`: its session id, or `others` for all other devices. Throws `not_found`. */
  endSession: (session: { id: string }, options?: CallOptions) => Promise<Message>
  /** Changes the password and signs out all other devices. Throws `invalid_credentials`, `validation_failed`, `two_factor_required` without a code if two-factor is on. */
  changePassword: (
    passwords: { currentPassword: string; newPassword: string; code?: string | undefined },
    options?: CallOptions,
  ) => Promise<Message>
  /** Sends an e-mail with a reset link if the account exists. */
  forgotPassword: (account: { email: string }, options?: CallOptions) => Promise<Message>
  /** Sets a password with the token from the reset e-mail and signs out all devices. Throws `unauthenticated` for a used or expired link. */
  resetPassword: (
    reset: { token: string; newPassword: string },
    options?: CallOptions,
  ) => Promise<Message>
  /** Verifies an e-mail address with the token from the verification e-mail. Throws `unauthenticated` for a used or expired link. */
  verifyEmail: (link: { token: string }, options?: CallOptions) => Promise<Message>
  /** Sends the verification e-mail again. Throws `conflict` if there is nothing to verify. */
  resendVerification: (options?: CallOptions) => Promise<Message>
  /** Sends an e-mail to the new address; nothing changes until its link is opened. Throws `email_taken`, `invalid_credentials`, `recent_sign_in_required` for users without a password, `two_factor_required` without a code if two-factor is on. */
  changeEmail: (
    change: { password?: string | undefined; email: string; code?: string | undefined },
    options?: CallOptions,
  ) => Promise<Message>
  /** Cancels a change of address with the token sent to the old address. */
  cancelEmailChange: (link: { token: string }, options?: CallOptions) => Promise<Message>
  /** Unlinks an identity provider. Throws `conflict` if it is the only way to sign in, `two_factor_required` without a code if two-factor is on. */
  unlinkProvider: (
    link: { provider: 'google' | 'apple' | 'oidc'; code?: string | undefined },
    options?: CallOptions,
  ) => Promise<Message>
  /** Creates a secret for an authenticator app. Throws `invalid_credentials`, `recent_sign_in_required` for users without a password, `conflict` if two-factor is on. */
  setUpTwoFactor: (
    proof: { password?: string | undefined },
    options?: CallOptions,
  ) => Promise<TwoFactorSetup>
  /** Turns two-factor on with a first code; the same code may be sent again for five minutes. Throws `invalid_credentials`. */
  confirmTwoFactor: (proof: { code: string }, options?: CallOptions) => Promise<RecoveryCodes>
  /** Replaces the recovery codes. Throws `invalid_credentials`, `conflict` if two-factor is off. */
  renewRecoveryCodes: (
    proof: { password?: string | undefined; code: string },
    options?: CallOptions,
  ) => Promise<RecoveryCodes>
  /** Turns two-factor off. Throws `invalid_credentials`. */
  disableTwoFactor: (
    proof: { password?: string | undefined; code: string },
    options?: CallOptions,
  ) => Promise<Message>

  /** Returns the signed-in user. */
  readProfile: (options?: CallOptions) => Promise<UserProfile>
  /** Changes the fields in `changes` and returns the whole profile. Throws `validation_failed`. */
  changeProfile: (changes: ProfileChanges, options?: CallOptions) => Promise<UserProfile>
  /**
   * Permanently deletes the account and all its data. Call it again if the response was lost. Stores keep charging for
   * `activeSubscriptions`: tell the user where to cancel.
   */
  deleteProfile: (options?: CallOptions) => Promise<DeletedAccount>
  /** Returns all data that the server stores about the user. */
  exportData: (options?: CallOptions) => Promise<UserExport>
}
