import { t } from 'elysia'
import { strict } from '../../http/envelope.ts'
import { UserProfile } from '../../http/user-profile.ts'

/** RFC 5321 allows 254 characters; the pattern is linear and checks only what every address has. */
const Email = t.String({
  minLength: 3,
  maxLength: 254,
  pattern: '^[^\\s@\\x00-\\x1f]+@[^\\s@\\x00-\\x1f]+$',
  error: 'must be an e-mail address',
})

export const MAX_PASSWORD_LENGTH = 256
const Password = t.String({ maxLength: MAX_PASSWORD_LENGTH })

export const RegisterBody = strict({
  email: Email,
  password: Password,
  name: t.Optional(t.String({ maxLength: 100 })),
})
export const LoginBody = strict({ email: Email, password: Password })
export const RefreshBody = strict({ refreshToken: t.String({ maxLength: 100 }) })

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
