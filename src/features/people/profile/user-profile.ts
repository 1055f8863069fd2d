import { type Static, t } from 'elysia'
import { strict } from '../../../http/envelope.ts'

/** The user as every reply shows it: signing in and the profile share it. */
export const UserProfile = strict(
  {
    _id: t.String(),
    loginType: t.String({ examples: ['email', 'google', 'apple', 'guest'] }),
    email: t.String({ description: 'as typed; empty for a guest' }),
    profile: strict({
      name: t.String(),
      locale: t.String({ examples: ['en'], description: 'BCP 47' }),
      timezone: t.String({ examples: ['utc'], description: 'IANA name in lower case' }),
      currency: t.String({ examples: ['usd'], description: 'ISO 4217 in lower case' }),
    }),
    twoFactor: strict({
      enabled: t.Boolean(),
      methods: t.Array(t.String()),
      recoveryCodesLeft: t.Integer(),
    }),
    onboardingCompleted: t.Boolean(),
  },
  'UserProfile',
)
export type UserProfile = Static<typeof UserProfile>
