import { eq, sql } from 'drizzle-orm'
import type { Db } from '../../db/open.ts'
import type { Tx } from '../../db/write.ts'
import { AppError, type ErrorDetail } from '../../lib/errors.ts'
import { asCurrency, asLocale, asTimezone } from '../../lib/locale.ts'

export type ProfileDeps = {
  db: Db
  now: () => Date
  /** Removes what the user has stored as part of the change, and answers what is left to do after it. */
  removeFiles: (tx: Tx, userId: string) => Promise<() => Promise<void>>
}

/** A merge patch: absent stays, null restores the start value. */
export type Patch = {
  profile?: {
    name?: string | null
    locale?: string | null
    timezone?: string | null
    currency?: string | null
  }
  onboardingCompleted?: boolean | null
}

export type Profile = ReturnType<typeof createProfile>

export function createProfile({ db, now, removeFiles }: ProfileDeps) {
  const { users } = db.tables
  const byId = db.read
    .select()
    .from(users)
    .where(eq(users.id, sql.placeholder('userId')))
    .prepare()
  return { read, change, remove }

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
      twoFactor: { enabled: false, methods: [], recoveryCodesLeft: 0 },
      onboardingCompleted: user.onboardingCompleted,
    }
  }

  /** `startLocale` is what a `null` locale becomes: the language negotiated with this request. */
  async function change(userId: string, patch: Patch, startLocale: string) {
    const changes = checked(patch, startLocale)
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

  /** Takes the person, the sessions and the attachments in one change; the files follow it. */
  async function remove(userId: string) {
    const finish = await db.write(async (tx) => {
      const removeFromDisk = await removeFiles(tx, userId)
      await tx.delete(users).where(eq(users.id, userId))
      return removeFromDisk
    })
    await finish()
  }
}

function checked({ profile = {}, onboardingCompleted }: Patch, startLocale: string) {
  const faults: ErrorDetail[] = []
  const changes = {
    ...field('name', (name) => name, ''),
    ...field('locale', asLocale, startLocale, 'a BCP 47 language tag such as en'),
    ...field('timezone', asTimezone, 'utc', 'an IANA time zone such as Europe/Berlin'),
    ...field('currency', asCurrency, 'usd', 'an ISO 4217 code such as usd'),
    ...(onboardingCompleted === undefined
      ? {}
      : { onboardingCompleted: onboardingCompleted ?? false }),
  }
  if (faults.length === 0) return changes
  throw new AppError('validation_failed', 'Some fields are not as they must be.', {
    details: faults,
  })

  function field<K extends 'name' | 'locale' | 'timezone' | 'currency'>(
    name: K,
    normalize: (value: string) => string | null,
    start: string,
    expected = '',
  ): { [key in K]?: string } {
    const given = profile[name]
    if (given === undefined) return {}
    const value = given === null ? start : normalize(given)
    if (value === null) faults.push({ path: `profile.${name}`, message: `must be ${expected}` })
    return { [name]: value } as { [key in K]?: string }
  }
}

function gone(): AppError {
  return new AppError('unauthenticated', 'This account is no more.')
}
