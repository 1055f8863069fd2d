import { eq, sql } from 'drizzle-orm'
import { AppError, type ErrorDetail } from '../../../lib/errors.ts'
import { asCurrency, asLocale, asTimezone } from '../../../lib/locale.ts'
import type { PeopleDb } from '../schema.ts'
import type { ProfilePatch } from './model.ts'

type ProfileDeps = { db: PeopleDb; now: () => Date }

/** What `null` restores, from the headers of the request. */
type StartValues = { locale: string; timezone: string }

export type Profile = ReturnType<typeof createProfile>

export function createProfile({ db, now }: ProfileDeps) {
  const { users, recoveryCodes } = db.tables
  const byId = db.read
    .select()
    .from(users)
    .where(eq(users.id, sql.placeholder('userId')))
    .prepare()
  return { read, change }

  async function read(userId: string) {
    const [user] = await byId.execute({ userId })
    if (!user) throw gone()
    return {
      _id: user.id,
      loginType: user.loginType,
      email: user.email ?? '',
      profile: {
        name: user.name,
        locale: user.locale,
        timezone: user.timezone,
        currency: user.currency,
      },
      twoFactor: await twoFactorOf(user),
      onboardingCompleted: user.onboardingCompleted,
    }
  }

  async function twoFactorOf({ id, twoFactorSince }: typeof users.$inferSelect) {
    if (twoFactorSince === null) return { enabled: false, methods: [], recoveryCodesLeft: 0 }
    const recoveryCodesLeft = await db.read.$count(recoveryCodes, eq(recoveryCodes.userId, id))
    return { enabled: true, methods: ['totp', 'recovery_code'], recoveryCodesLeft }
  }

  /** Applies a merge patch. */
  async function change(userId: string, patch: ProfilePatch, start: StartValues) {
    const changes = checked(patch, start)
    await db.write(async (tx) => {
      const changed = await tx
        .update(users)
        .set({ ...changes, updatedAt: now() })
        .where(eq(users.id, userId))
        .returning({ id: users.id })
      if (changed.length === 0) throw gone()
    })
    return read(userId)
  }
}

/** What `profile: null` stands for: every start value. */
const EVERYTHING_NULL = { name: null, locale: null, timezone: null, currency: null }

function checked({ profile, onboardingCompleted }: ProfilePatch, start: StartValues) {
  const given = profile === null ? EVERYTHING_NULL : (profile ?? {})
  const faults: ErrorDetail[] = []
  const changes = {
    ...field('name', (name) => name, ''),
    ...field('locale', asLocale, start.locale, 'a BCP 47 language tag such as en'),
    ...field('timezone', asTimezone, start.timezone, 'an IANA time zone such as Europe/Berlin'),
    ...field('currency', asCurrency, 'usd', 'an ISO 4217 code such as usd'),
    ...(onboardingCompleted === undefined
      ? {}
      : { onboardingCompleted: onboardingCompleted ?? false }),
  }
  if (faults.length === 0) return changes
  throw new AppError('validation_failed', 'Some fields are invalid.', {
    details: faults,
  })

  function field<K extends 'name' | 'locale' | 'timezone' | 'currency'>(
    name: K,
    normalize: (value: string) => string | null,
    start: string,
    expected = '',
  ): { [key in K]?: string } {
    const wanted = given[name]
    if (wanted === undefined) return {}
    const value = wanted === null ? start : normalize(wanted)
    if (value === null) faults.push({ path: `profile.${name}`, message: `must be ${expected}` })
    return { [name]: value } as { [key in K]?: string }
  }
}

function gone(): AppError {
  return new AppError('unauthenticated', 'This account no longer exists.')
}
