import { t } from 'elysia'
import {
  closedObject,
  createDataSchema,
  createReplySchema,
  createUnionModel,
  flag,
  id,
  integer,
  literalUnion,
  openEnum,
  text,
  time,
} from '../../platform/http/replies/envelope.ts'
import { UserProfile } from './profile/model.ts'

/** RFC 5321 allows 254 characters. The pattern runs in linear time and is only a basic check; `＠` and `﹫` mean `@`. */
const Email = t.String({
  minLength: 3,
  maxLength: 254,
  pattern: '^[^\\s@＠﹫\\x00-\\x1f]+[@＠﹫][^\\s@＠﹫\\x00-\\x1f]+$',
  error: 'must be an e-mail address',
  description: 'case-insensitive, shown as typed',
  examples: ['ann@example.com'],
})
/** Checked together with the password, so that the errors of both are reported at once. */
const NewEmail = text('an e-mail address, case-insensitive, shown as typed', 'ann@example.com', {
  maxLength: 254,
})

const password = (description: string, example = 'correct horse battery') =>
  t.String({
    maxLength: 256,
    error: 'must have 256 characters or fewer',
    description,
    examples: [example],
  })
const Password = password('used as typed, in any Unicode normalization form')
/** Users without a password must have signed in recently instead. */
const OwnPassword = t.Optional(
  password('used as typed; users without one must have signed in within the last ten minutes'),
)
const NewPassword = password('8 to 256 characters, and not a common one', 'a better one of mine')
const mailToken = t.String({
  maxLength: 100,
  description: 'the `token` from the link in the e-mail; it works once',
  examples: ['b2k0b5s1h4v9d3z7p6q8c1x2m4n5j6f7'],
})
const Name = text('the user’s name', 'Ann', { maxLength: 100 })
const Code = text('six digits from the authenticator app, or a recovery code', '123456', {
  maxLength: 40,
})
/** For changes to the sign-in methods. */
export const SecondFactor = t.Optional(
  text('needed if two-factor is on: an authenticator code, or a recovery code', '123456', {
    maxLength: 40,
  }),
)
const ChallengeToken = text('valid for this sign-in only', 'm1qk5vJ0x7t2w9r4c8b6n3z1h5f7d2s4', {
  maxLength: 100,
})
const RefreshToken = t.String({
  maxLength: 100,
  description: 'opaque; replaced with every use',
  examples: ['Zk3v9Qw1x5c7B2n4M6j8H0g1F3d5S7a9P2o4I6u8Y0t'],
})
const provider = literalUnion(['google', 'apple', 'oidc'], {
  description:
    'the identity provider; `oidc` is the OpenID Connect provider of the server’s configuration',
})
const methods = t.Array(
  openEnum(['totp', 'recovery_code'], { description: 'a two-factor method' }),
  { description: 'the accepted two-factor methods', examples: [['totp', 'recovery_code']] },
)

export const RegisterBody = closedObject({
  email: NewEmail,
  password: password('8 to 256 characters, and not a common one'),
  name: t.Optional(Name),
  invitation: t.Optional(
    t.String({
      maxLength: 100,
      description: 'the `token` from the link in an invitation; needed with `SIGN_UP=invite`',
      examples: ['b2k0b5s1h4v9d3z7p6q8c1x2m4n5j6f7'],
    }),
  ),
})
export const LoginBody = closedObject({ email: Email, password: Password })
export const EmailCodeBody = closedObject({ email: Email })
export const EmailCodeAnswerBody = closedObject({
  requestToken: t.String({
    maxLength: 100,
    description: 'from the response to the request for the code',
    examples: ['m1qk5vJ0x7t2w9r4c8b6n3z1h5f7d2s4'],
  }),
  code: text('six digits', '123456', { maxLength: 40 }),
  name: t.Optional(Name),
})
export const ChallengeBody = closedObject({ challengeToken: ChallengeToken, code: Code })
export const SocialBody = closedObject({
  provider,
  idToken: t.String({
    maxLength: 8_192,
    description: 'the id token (JWT) that the provider gave the app',
    examples: ['eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjMifQ.c2lnbmF0dXJl'],
  }),
  nonce: t.Optional(
    text(
      'the nonce that the app passed to the provider, before hashing; optional unless the server requires it',
      '5f0c6d3e',
      { maxLength: 512 },
    ),
  ),
  name: t.Optional(
    text(
      'the user’s name, cut to 100 characters; Apple sends it only at the first sign-in',
      'Ann',
      { maxLength: 1_000 },
    ),
  ),
  authorizationCode: t.Optional(
    text('from Apple; needed to revoke the grant when the account is deleted', 'c1f2.0.abc', {
      maxLength: 2_048,
    }),
  ),
  redirectUri: t.Optional(
    t.String({
      maxLength: 2_048,
      description: 'the redirect URI of the code, if it was issued to a Services ID of Apple',
      examples: ['https://example.com/callback'],
    }),
  ),
  code: SecondFactor,
})
export const RefreshBody = closedObject({ refreshToken: RefreshToken })
export const PasswordBody = closedObject({
  currentPassword: Password,
  newPassword: NewPassword,
  code: SecondFactor,
})
export const ForgotBody = closedObject({ email: Email })
export const ResetBody = closedObject({ token: mailToken, newPassword: NewPassword })
export const VerifyBody = closedObject({ token: mailToken })
export const CancelChangeBody = closedObject({ token: mailToken })
export const ProviderQuery = t.Object({ provider, code: SecondFactor })
export const ChangeEmailBody = closedObject({
  password: OwnPassword,
  email: Email,
  code: SecondFactor,
})
export const TwoFactorBody = closedObject({ password: OwnPassword })
export const ConfirmBody = closedObject({ code: Code })
export const RenewCodesBody = closedObject({ password: OwnPassword, code: Code })
export const DisableBody = closedObject({ password: OwnPassword, code: Code })
export const SessionQuery = t.Object({
  id: text('a session, or `others` for all but this one', 'others', { maxLength: 100 }),
})

export const SessionReply = closedObject(
  {
    accessToken: t.String({
      description: 'JWT (RFC 9068), signed with ES256: `Authorization: Bearer <accessToken>`',
      examples: ['eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiIwMWExIn0.c2lnbmF0dXJl'],
    }),
    refreshToken: RefreshToken,
    tokenType: openEnum(['Bearer'], { description: 'the scheme of the access token' }),
    expiresIn: integer({
      description: 'seconds until the access token expires',
      examples: [900],
    }),
    user: UserProfile,
  },
  'Session',
  'a device’s tokens and the signed-in user',
)

export const TwoFactorChallenge = closedObject(
  {
    challengeToken: ChallengeToken,
    methods,
    expiresIn: integer({
      description: 'seconds until the challenge expires',
      examples: [300],
    }),
  },
  'TwoFactorChallenge',
  'the first step is done; a code is needed',
)

/** Both responses in one object, for generators without `oneOf`. */
const SimpleSignInReply = createDataSchema(
  closedObject(
    {
      ...t.Partial(SessionReply).properties,
      challengeToken: t.Optional(ChallengeToken),
      methods: t.Optional(methods),
      expiresIn: integer({
        description: 'seconds until the access token or the challenge expires',
        examples: [900],
      }),
    },
    'SignInResult',
    'a session; or with code `two_factor_required` only `challengeToken`, `methods` and `expiresIn`',
  ),
)

/** A session or, with code `two_factor_required`, a challenge. */
export const SignInReply = createUnionModel(
  'code',
  {
    ok: createReplySchema('ok', SessionReply, 'SignedIn', 'the sign-in is done'),
    two_factor_required: createReplySchema(
      'two_factor_required',
      TwoFactorChallenge,
      'TwoFactorRequired',
      'a two-factor code is needed',
    ),
  },
  { title: 'SignInReply', description: 'distinguished by `code`', simple: SimpleSignInReply },
)

export const EmailCodeReply = closedObject(
  {
    requestToken: t.String({
      description: 'send it with the code, which works only on this device',
      examples: ['m1qk5vJ0x7t2w9r4c8b6n3z1h5f7d2s4'],
    }),
    expiresIn: integer({ description: 'seconds until the code expires', examples: [600] }),
  },
  'EmailCodeRequest',
  'a code is on its way, if the address can receive one',
)

export const DevicesReply = t.Array(
  closedObject(
    {
      _id: id('of the session'),
      device: text('the name the device reports', 'Pixel 9'),
      createdAt: time('when it signed in'),
      lastUsedAt: time('when it was last used'),
      current: flag('whether this request came from it'),
    },
    'Device',
    'a signed-in device',
  ),
  { description: 'the signed-in devices' },
)

export const TwoFactorReply = closedObject(
  {
    secret: text('base32, to type into an authenticator app', 'JBSWY3DPEHPK3PXP'),
    otpauthUrl: t.String({
      description: 'the secret as a link for authenticator apps',
      examples: ['otpauth://totp/App:ann%40example.com?secret=JBSWY3DPEHPK3PXP&issuer=App'],
    }),
    qrSvg: text('the secret as a QR code, in SVG', '<svg></svg>'),
  },
  'TwoFactorSetup',
  'a secret for an authenticator app, in three forms; it takes effect once it is confirmed',
)
export const RecoveryCodesReply = closedObject(
  {
    recoveryCodes: t.Array(t.String(), {
      description: 'ten single-use codes; they are not shown again',
      examples: [['7K2M-9QXR-4TWB']],
    }),
  },
  'RecoveryCodes',
  'codes that replace the authenticator app',
)

export const userTags = {
  'Signing in': 'Accounts, sessions and tokens',
  Profile: 'The signed-in user',
}
