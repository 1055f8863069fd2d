import type { ActiveSubscription } from './billing.ts'
import type { CallOptions, Message } from './shared-types.ts'
import type { AuthChange } from './tabs.ts'

/** The reply to the deletion of an account. */
export type DeletedAccount = Message & {
  /** Subscriptions that go on at their stores; absent if there are none, or if the reply was lost. */
  activeSubscriptions?: ActiveSubscription[]
}

/** E-mail address and password for a sign-in. */
export type Credentials = {
  email: string
  /** Used as typed, in any Unicode normalization form. */
  password: string
}

/** The data for a new account. */
export type NewAccount = {
  email: string
  /** 8 to 256 characters, and not a common password. */
  password: string
  /** The user's name, up to 100 characters. */
  name?: string
  /** The token from an invitation, if the server accepts only invited users. */
  invitation?: string
}

/** A code is on its way, if the address can receive one. */
export type EmailCodeRequest = {
  /** Send it with the code. */
  requestToken: string
  /** Seconds until the code expires. */
  expiresIn: number
}

/** The code that the user has entered. */
export type EmailCodeAnswer = {
  requestToken: string
  /** Six digits. */
  code: string
  /** The name for a new account. */
  name?: string
}

/** The data for a sign-in with an identity provider. */
export type SocialLogin = {
  /** `oidc` is the OpenID Connect provider of the server's configuration. */
  provider: 'google' | 'apple' | 'oidc'
  /** The id token that the provider issued to the app. */
  idToken: string
  /** The nonce that the app sent to the provider, before hashing. */
  nonce?: string
  /** Apple sends it only at the first sign-in. */
  name?: string
  /** From Apple: lets the server revoke the grant when the account is deleted. */
  authorizationCode?: string
  /** The redirect URI of the authorization code, if it was issued to a Services ID of Apple. */
  redirectUri?: string
  /** For linking the provider to the signed-in user with two-factor on. */
  code?: string
}

/** A device's tokens and its user. The client keeps the tokens: an app needs only `user`. */
export type Session = {
  /** JWT for `Authorization: Bearer`, valid for 15 minutes. */
  accessToken: string
  /** Opaque; replaced at every use. */
  refreshToken: string
  tokenType: string
  /** Seconds until the access token expires. */
  expiresIn: number
  user: UserProfile
}

/** The password was correct and a code is needed: send it with `passTwoFactor`. */
export type TwoFactorChallenge = {
  challengeToken: string
  /** `totp` and `recovery_code`; later server versions may add others. */
  methods: string[]
  /** Seconds until the challenge expires. */
  expiresIn: number
}

/** A session, or a challenge if two-factor is on: check `'challengeToken' in result`. */
export type SignInResult = Session | TwoFactorChallenge

/** A user. Pass `_id` to the billing SDK as the app user id. */
export type UserProfile = {
  _id: string
  /** `email`, `google`, `apple`, `oidc`, `passkey` or `guest`; later server versions may add others. */
  loginType: string
  /** As typed; empty for a guest. */
  email: string
  /** Whether the address is verified. */
  emailVerified: boolean
  profile: {
    /** Empty until it is set. */
    name: string
    /** BCP 47, such as `pt-BR`. */
    locale: string
    /** IANA name such as `Europe/Berlin`, `utc`, or an offset such as `+05:30`. */
    timezone: string
    /** ISO 4217 in lower case, such as `usd`. */
    currency: string
    /** The profile picture; null if there is none. */
    avatarUrl: string | null
  }
  twoFactor: {
    enabled: boolean
    /** The methods that the second step accepts; empty while two-factor is off. */
    methods: string[]
    /** Unused recovery codes. */
    recoveryCodesLeft: number
  }
  /** Set by the app; the server only stores it. */
  onboardingCompleted: boolean
}

/** Profile fields to change: absent fields stay unchanged, null restores the default (RFC 7396). */
export type ProfileChanges = {
  profile?: {
    /** Up to 100 characters. */
    name?: string | null
    /** BCP 47. */
    locale?: string | null
    /** IANA name in any case, or an offset such as `+05:30`. */
    timezone?: string | null
    /** ISO 4217, in any case. */
    currency?: string | null
    /** The key of the user's own `publicAsset`; null removes the picture. */
    avatarKey?: string | null
  } | null
  onboardingCompleted?: boolean | null
}

/** A signed-in device. */
export type Device = {
  _id: string
  /** The device's name, as the app sends it. */
  device: string
  /** ISO 8601. */
  createdAt: string
  /** ISO 8601. */
  lastUsedAt: string
  /** Whether it is this device. */
  current: boolean
}

/** A secret for an authenticator app, in three forms. It takes effect once it is confirmed. */
export type TwoFactorSetup = {
  /** Base32, for typing in. */
  secret: string
  /** A link that opens authenticator apps. */
  otpauthUrl: string
  /** A QR code as SVG. */
  qrSvg: string
}

/** Ten single-use codes. They are not shown again. */
export type RecoveryCodes = { recoveryCodes: string[] }

/** The account, as part of a data export. */
export type AccountExport = {
  user: UserProfile
  account: {
    /** ISO 8601. */
    createdAt: string
    /** ISO 8601. */
    updatedAt: string
    /** ISO 8601; null while the address is not verified. */
    emailVerifiedAt: string | null
    /** ISO 8601; null while two-factor is off. */
    twoFactorSince: string | null
    hasPassword: boolean
    /** ISO 8601: when the user last signed in or refreshed the session, to the day (UTC); null: never. */
    lastSeenAt: string | null
    /** Of the app that was used last: `ios`, `android` or `web`; null if unknown. */
    platform: string | null
    /** Of the last sign-in or refresh; null if unknown. */
    country: string | null
  }
  /** Linked accounts at identity providers. */
  identities: {
    provider: string
    /** The id of the user at the provider. */
    subject: string
    email: string | null
    /** Whether a grant is stored; deleting the account revokes it. */
    holdsGrant: boolean
    /** ISO 8601. */
    createdAt: string
  }[]
  sessions: Device[]
  /** Every device that has signed in. */
  devices: { device: string; seenAt: string }[]
  /** Notes of operators on the user; `author` is null for one from the command line. `createdAt`: ISO 8601. */
  notes: { _id: string; text: string; author: string | null; createdAt: string }[]
  /** Unused links and challenges. */
  pending: { purpose: string; email: string | null; expiresAt: string }[]
}

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
  /** Signs in, or returns a challenge if two-factor is on; the account takes over a guest's data. Throws `invalid_credentials`, and `session_ended` as `register` does. */
  login: (credentials: Credentials, options?: CallOptions) => Promise<SignInResult>
  /** Sends a code of six digits by e-mail. Keep `requestToken` until the user has entered the code. */
  requestEmailCode: (account: { email: string }, options?: CallOptions) => Promise<EmailCodeRequest>
  /** Signs in with the code from the e-mail, on the device that asked for it; creates the account if there is none. A guest becomes that account, or an existing account takes over the guest's data. Throws `invalid_credentials`, and `session_ended` as `register` does. */
  signInWithEmailCode: (answer: EmailCodeAnswer, options?: CallOptions) => Promise<SignInResult>
  /** Completes a two-factor sign-in. `code`: from the authenticator app, or a recovery code. Throws `invalid_credentials`. */
  passTwoFactor: (
    answer: { challengeToken: string; code: string },
    options?: CallOptions,
  ) => Promise<Session>
  /** Signs in with Google, Apple or the server's OpenID Connect provider; a guest becomes that account, or an existing account takes over the guest's data. Throws `unauthenticated`, and `session_ended` as `register` does. */
  signInSocially: (login: SocialLogin, options?: CallOptions) => Promise<SignInResult>
  /** Signs in without credentials, or returns the current guest. Throws `conflict` if a user is signed in. Any later sign-in keeps the guest's data. */
  startAsGuest: (options?: CallOptions) => Promise<Session>
  /** Fetches new tokens. The client does this automatically when necessary. */
  refresh: (options?: CallOptions) => Promise<void>
  /** Ends the session on the server if it can be reached, and always on this device. */
  logout: (options?: CallOptions) => Promise<Message>
  /** Returns the signed-in devices, most recently used first. */
  listSessions: (options?: CallOptions) => Promise<Device[]>
  /**
   * Signs a device out. `id`: its session id, or `others` for all other devices. Throws
   * `not_found`.
   */
  endSession: (session: { id: string }, options?: CallOptions) => Promise<Message>
  /** Changes the password and signs out all other devices. Throws `invalid_credentials`, `validation_failed`, `two_factor_required` without a code if two-factor is on. */
  changePassword: (
    passwords: { currentPassword: string; newPassword: string; code?: string },
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
    change: { password?: string; email: string; code?: string },
    options?: CallOptions,
  ) => Promise<Message>
  /** Cancels a change of address with the token sent to the old address. */
  cancelEmailChange: (link: { token: string }, options?: CallOptions) => Promise<Message>
  /** Unlinks an identity provider. Throws `conflict` if it is the only way to sign in, `two_factor_required` without a code if two-factor is on. */
  unlinkProvider: (
    link: { provider: 'google' | 'apple' | 'oidc'; code?: string },
    options?: CallOptions,
  ) => Promise<Message>
  /** Creates a secret for an authenticator app. Throws `invalid_credentials`, `recent_sign_in_required` for users without a password, `conflict` if two-factor is on. */
  setUpTwoFactor: (proof: { password?: string }, options?: CallOptions) => Promise<TwoFactorSetup>
  /** Turns two-factor on with a first code; the same code may be sent again for five minutes. Throws `invalid_credentials`. */
  confirmTwoFactor: (proof: { code: string }, options?: CallOptions) => Promise<RecoveryCodes>
  /** Replaces the recovery codes. Throws `invalid_credentials`, `conflict` if two-factor is off. */
  renewRecoveryCodes: (
    proof: { password?: string; code: string },
    options?: CallOptions,
  ) => Promise<RecoveryCodes>
  /** Turns two-factor off. Throws `invalid_credentials`. */
  disableTwoFactor: (
    proof: { password?: string; code: string },
    options?: CallOptions,
  ) => Promise<Message>

  /** Returns the signed-in user. */
  readProfile: (options?: CallOptions) => Promise<UserProfile>
  /** Changes the fields in `changes` and returns the whole profile. Throws `validation_failed`. */
  changeProfile: (changes: ProfileChanges, options?: CallOptions) => Promise<UserProfile>
  /**
   * Permanently deletes the account and all its data. Call it again if the reply was lost. Stores go on charging for
   * `activeSubscriptions`: tell the user where to cancel.
   */
  deleteProfile: (options?: CallOptions) => Promise<DeletedAccount>
}
