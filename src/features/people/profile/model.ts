import { type Static, t } from 'elysia'
import { strict } from '../../../http/envelope.ts'

const text = (maxLength: number) =>
  t.Union([t.String({ maxLength }), t.Null()], {
    error: `must be text of at most ${maxLength} characters, or null`,
  })

/** RFC 7396: what is absent stays, `null` restores the start value. */
export const ProfilePatch = strict({
  profile: t.Optional(
    t.Union([
      strict({
        name: t.Optional(text(100)),
        locale: t.Optional(text(35)),
        timezone: t.Optional(text(64)),
        currency: t.Optional(text(3)),
        avatarKey: t.Optional(text(64)),
      }),
      t.Null(),
    ]),
  ),
  onboardingCompleted: t.Optional(
    t.Union([t.Boolean(), t.Null()], { error: 'must be true, false or null' }),
  ),
})
export type ProfilePatch = Static<typeof ProfilePatch>

/** The user as every reply shows it: signing in and the profile share it. */
export const UserProfile = strict(
  {
    _id: t.String(),
    loginType: t.String({ examples: ['email', 'google', 'apple', 'guest'] }),
    email: t.String({ description: 'as typed; empty for a guest' }),
    emailVerified: t.Boolean({ description: 'whether the person was shown to read its mail' }),
    profile: strict({
      name: t.String(),
      locale: t.String({ examples: ['en'], description: 'BCP 47' }),
      timezone: t.String({ examples: ['utc'], description: 'IANA name in lower case' }),
      currency: t.String({ examples: ['usd'], description: 'ISO 4217 in lower case' }),
      avatarUrl: t.Union([t.String(), t.Null()]),
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
