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
      }),
      t.Null(),
    ]),
  ),
  onboardingCompleted: t.Optional(
    t.Union([t.Boolean(), t.Null()], { error: 'must be true, false or null' }),
  ),
})
export type ProfilePatch = Static<typeof ProfilePatch>
