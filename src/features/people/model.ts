import { t } from 'elysia'
import { DataOf, oneOf, strict } from '../../http/envelope.ts'
import { UserProfile } from './profile/model.ts'

/** RFC 5321 allows 254 characters; the pattern is linear and checks only what every address has. */
const Email = t.String({
  minLength: 3,
  maxLength: 254,
  pattern: '^[^\\s@\\x00-\\x1f]+@[^\\s@\\x00-\\x1f]+$',
  error: 'must be an e-mail address',
})

const Password = t.String({ maxLength: 256, error: 'must have 256 characters or less' })
const Token = t.String({ maxLength: 100 })
const Code = t.String({ maxLength: 40, description: 'six digits, or a recovery code' })

export const RegisterBody = strict({
  email: Email,
  password: Password,
  name: t.Optional(t.String({ maxLength: 100 })),
})
export const LoginBody = strict({ email: Email, password: Password })
export const ChallengeBody = strict({ challengeToken: Token, code: Code })
export const SocialBody = strict({
  provider: oneOf('google', 'apple'),
  idToken: t.String({ maxLength: 8_192 }),
  nonce: t.Optional(t.String({ maxLength: 512 })),
  name: t.Optional(t.String({ maxLength: 100 })),
  authorizationCode: t.Optional(t.String({ maxLength: 2_048 })),
})
export const RefreshBody = strict({ refreshToken: Token })
export const PasswordBody = strict({ currentPassword: Password, newPassword: Password })
export const ForgotBody = strict({ email: Email })
export const ResetBody = strict({ token: Token, newPassword: Password })
export const VerifyBody = strict({ token: Token })
export const CancelChangeBody = strict({ token: Token })
export const ProviderQuery = t.Object({ provider: oneOf('google', 'apple') })
export const ChangeEmailBody = strict({ password: Password, email: Email })
export const TwoFactorBody = strict({ password: Password })
export const ConfirmBody = strict({ code: Code })
export const DisableBody = strict({ password: Password, code: Code })
export const SessionQuery = t.Object({
  id: t.String({ maxLength: 100, description: 'a session, or `others` for all but this one' }),
})

export const SessionReply = strict(
  {
    accessToken: t.String({ description: 'JWT, signed with ES256' }),
    refreshToken: t.String({ description: 'opaque; replaced at every use' }),
    tokenType: t.String({ examples: ['Bearer'] }),
    expiresIn: t.Integer({ description: 'seconds until the access token expires' }),
    user: UserProfile,
  },
  'Session',
)

const Challenge = strict(
  {
    challengeToken: t.String({ description: 'opens nothing but the second step' }),
    methods: t.Array(t.String(), { examples: [['totp', 'recovery_code']] }),
    expiresIn: t.Integer({ description: 'seconds' }),
  },
  'TwoFactorChallenge',
)

/** A session, or with code `two_factor_required` a challenge. */
export const SignInReply = DataOf(t.Union([SessionReply, Challenge]))

export const DevicesReply = t.Array(
  strict(
    {
      _id: t.String(),
      device: t.String(),
      createdAt: t.String({ format: 'date-time' }),
      lastUsedAt: t.String({ format: 'date-time' }),
      current: t.Boolean(),
    },
    'Device',
  ),
)

export const TwoFactorReply = strict(
  { secret: t.String(), otpauthUrl: t.String(), qrSvg: t.String() },
  'TwoFactorSetup',
)
export const RecoveryCodesReply = strict({ recoveryCodes: t.Array(t.String()) }, 'RecoveryCodes')

export const peopleTags = {
  'Signing in': 'Accounts, sessions and tokens',
  Profile: 'The signed-in person',
}
/** Pages that a browser opens. */
export const peoplePlainPaths = ['/auth/verify', '/auth/reset', '/auth/cancel', '/account/delete']
