import { type Static, t } from 'elysia'
import { closedObject, id, integer, nullable, openEnum } from '../../../platform/http/envelope.ts'

const text = (maxLength: number, description: string, example: string | null) =>
  t.Union([t.String({ maxLength }), t.Null()], {
    error: `must be text of at most ${maxLength} characters, or null`,
    description,
    examples: [example],
  })

/** RFC 7396: what is absent stays, `null` restores the start value. */
export const ProfilePatch = closedObject({
  profile: t.Optional(
    t.Union(
      [
        closedObject(
          {
            name: t.Optional(text(100, 'null: empty', 'Ann')),
            locale: t.Optional(text(35, 'BCP 47; null: as the phone asks for', 'pt-BR')),
            timezone: t.Optional(text(64, 'IANA; null: as the phone says', 'Europe/Berlin')),
            currency: t.Optional(text(3, 'ISO 4217 in any case; null: usd', 'EUR')),
            avatarKey: t.Optional(
              // An invented key would be refused where requests are tried.
              text(64, 'the key of an own public picture; null: none', null),
            ),
          },
          'ProfileChanges',
          'what is absent stays; null restores every start value',
        ),
        t.Null(),
      ],
      { description: 'what is absent stays; null restores every start value' },
    ),
  ),
  onboardingCompleted: t.Optional(
    t.Union([t.Boolean(), t.Null()], {
      error: 'must be true, false or null',
      description: 'null: false',
      examples: [true],
    }),
  ),
})
export type ProfilePatch = Static<typeof ProfilePatch>

/** The user as every reply shows it: signing in and the profile share it. */
export const UserProfile = closedObject(
  {
    _id: id('of the person: give it to the billing SDK as the app user id'),
    loginType: openEnum(['email', 'google', 'apple', 'guest'], {
      description: 'how the account was made',
    }),
    email: t.String({ description: 'as typed; empty for a guest', examples: ['ann@example.com'] }),
    emailVerified: t.Boolean({
      description: 'whether the person was shown to read mail at the address',
      examples: [true],
    }),
    profile: closedObject(
      {
        name: t.String({ description: 'empty until it is set', examples: ['Ann'] }),
        locale: t.String({ description: 'BCP 47', examples: ['en'] }),
        timezone: t.String({ description: 'IANA name in lower case', examples: ['utc'] }),
        currency: t.String({ description: 'ISO 4217 in lower case', examples: ['usd'] }),
        avatarUrl: nullable(
          t.String({
            description: 'the picture that shows the person; null for none',
            examples: ['https://api.example.com/files/k3v9qw1x5c7b2n4m6j8h0g1f3d.webp'],
          }),
        ),
      },
      'Profile',
      'what the person may change',
    ),
    twoFactor: closedObject(
      {
        enabled: t.Boolean({
          description: 'whether signing in takes two steps',
          examples: [false],
        }),
        methods: t.Array(
          openEnum(['totp', 'recovery_code'], { description: 'a way to pass the second step' }),
          { description: 'what the second step takes; none while it is off', examples: [[]] },
        ),
        recoveryCodesLeft: integer({
          description: 'recovery codes not used yet',
          examples: [0],
        }),
      },
      'TwoFactorState',
      'how the second step of signing in stands',
    ),
    onboardingCompleted: t.Boolean({ description: 'kept for the app', examples: [true] }),
  },
  'UserProfile',
  'a person, as every reply shows one',
)
export type UserProfile = Static<typeof UserProfile>
