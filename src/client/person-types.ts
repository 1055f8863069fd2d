/** What signs in by e-mail. */
export type Credentials = {
  email: string
  /** Taken exactly as typed. */
  password: string
}

/** What makes an account. */
export type NewAccount = {
  email: string
  /** 8 to 256 characters, and not a common one. */
  password: string
  /** What the person is called, at most 100 characters. */
  name?: string
}

/** What signs in with Google or Apple. */
export type SocialLogin = {
  provider: 'google' | 'apple'
  /** What the provider gave the app. */
  idToken: string
  /** What the app gave the provider, before it was hashed. */
  nonce?: string
  /** Apple tells it once, at the first sign-in. */
  name?: string
  /** Of Apple: lets the grant be revoked when the account is deleted. */
  authorizationCode?: string
}

/** The tokens of a device, and whose they are. The client keeps them: an app needs only `user`. */
export type Session = {
  /** JWT for `Authorization: Bearer`; it lives 15 minutes. */
  accessToken: string
  /** Opaque; replaced at every use. */
  refreshToken: string
  tokenType: string
  /** Seconds until the access token expires. */
  expiresIn: number
  user: UserProfile
}

/** The password was right, and a code is needed: pass it with `passTwoFactor`. */
export type TwoFactorChallenge = {
  challengeToken: string
  /** `totp` and `recovery_code`; later servers may know others. */
  methods: string[]
  /** Seconds until it must be passed. */
  expiresIn: number
}

/** A session, or a challenge where two-factor is on: `'challengeToken' in result` tells. */
export type SignInResult = Session | TwoFactorChallenge

/** A person. Give `_id` to the billing SDK as the app user id. */
export type UserProfile = {
  _id: string
  /** `email`, `google`, `apple` or `guest`; later servers may know others. */
  loginType: string
  /** As typed; empty for a guest. */
  email: string
  /** Whether the person was shown to read mail at the address. */
  emailVerified: boolean
  profile: {
    /** Empty until it is set. */
    name: string
    /** BCP 47, such as `pt-BR`. */
    locale: string
    /** IANA name in lower case, such as `europe/berlin`. */
    timezone: string
    /** ISO 4217 in lower case, such as `usd`. */
    currency: string
    /** The picture that shows the person; null for none. */
    avatarUrl: string | null
  }
  twoFactor: {
    enabled: boolean
    /** What the second step takes; none while it is off. */
    methods: string[]
    /** Recovery codes not used yet. */
    recoveryCodesLeft: number
  }
  /** Kept for the app. */
  onboardingCompleted: boolean
}

/** What to change: what is absent stays, null restores the start value (RFC 7396). */
export type ProfileChanges = {
  profile?: {
    /** At most 100 characters. */
    name?: string | null
    /** BCP 47. */
    locale?: string | null
    /** IANA name, in any case. */
    timezone?: string | null
    /** ISO 4217, in any case. */
    currency?: string | null
    /** The key of an own `publicAsset`; null for no picture. */
    avatarKey?: string | null
  } | null
  onboardingCompleted?: boolean | null
}

/** A signed-in device. */
export type Device = {
  _id: string
  /** What the device calls itself. */
  device: string
  /** ISO 8601. */
  createdAt: string
  /** ISO 8601. */
  lastUsedAt: string
  /** Whether it is this one. */
  current: boolean
}

/** A secret for an authenticator app, in three forms. It counts once it is confirmed. */
export type TwoFactorSetup = {
  /** Base32, to be typed. */
  secret: string
  /** A link that authenticator apps open. */
  otpauthUrl: string
  /** A QR code as SVG. */
  qrSvg: string
}

/** Ten codes that work once each. They are not shown again. */
export type RecoveryCodes = { recoveryCodes: string[] }

/** A sentence for people. */
export type Message = { message: string }
