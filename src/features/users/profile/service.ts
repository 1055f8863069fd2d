import { eq } from 'drizzle-orm'
import {
  type AppError,
  type ErrorDetail,
  invalidField,
  invalidFields,
} from '../../../lib/errors.ts'
import { asCurrency, asLocale, asTimezone } from '../../../lib/text/locale.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { Limits, WindowRule } from '../../../platform/limits/limits.ts'
import type { Account, Accounts } from '../accounts/accounts.ts'
import type { UsersDb } from '../schema.ts'
import type { ProfilePatch } from './model.ts'

type ProfileDeps = {
  db: UsersDb
  ownsPublicPicture: (tx: Tx, userId: string, key: string) => Promise<boolean>
  findAccount: Accounts['find']
  updateAccount: Accounts['update']
  /** The base of public files' URLs, if a CDN serves them. */
  filesPublicUrl: string | null
  limits: Pick<Limits, 'reserve'>
}

/** Each change is announced to the user's devices and to webhooks. */
const CHANGES_PER_USER: WindowRule = { name: 'profile-change', max: 120, seconds: 60 }

/** The defaults that `null` restores, from the request headers. */
type DefaultValues = { locale: string; timezone: string }

export type Profile = ReturnType<typeof createProfile>

export function createProfile(deps: ProfileDeps) {
  const { db, ownsPublicPicture, findAccount, updateAccount, filesPublicUrl, limits } = deps
  const { recoveryCodes } = db.tables
  return { read, change }

  /** `baseUrl`: the base of file URLs. */
  async function read(userId: string, baseUrl: string) {
    const user = await findAccount(db.read, userId)
    return {
      _id: user.id,
      loginType: user.loginType,
      email: user.email ?? '',
      emailVerified: user.emailVerifiedAt !== null,
      profile: {
        name: user.name,
        locale: user.locale,
        timezone: user.timezone,
        currency: user.currency,
        avatarUrl: user.avatarKey && `${filesPublicUrl ?? baseUrl}/files/${user.avatarKey}`,
      },
      twoFactor: await readTwoFactor(user),
      onboardingCompleted: user.onboardingCompleted,
    }
  }

  async function readTwoFactor({ id, twoFactorSince }: Account) {
    if (twoFactorSince === null) return { enabled: false, methods: [], recoveryCodesLeft: 0 }
    const recoveryCodesLeft = await db.read.$count(recoveryCodes, eq(recoveryCodes.userId, id))
    return { enabled: true, methods: ['totp', 'recovery_code'], recoveryCodesLeft }
  }

  /** Runs `inSameTransaction` in the same transaction as the change. */
  async function change(
    userId: string,
    patch: ProfilePatch,
    defaults: DefaultValues,
    baseUrl: string,
    inSameTransaction: (tx: Tx) => Promise<void> = async () => {},
  ) {
    const changes = validatePatch(patch, defaults)
    await limits.reserve([{ rule: CHANGES_PER_USER, key: userId }])
    await db.write(async (tx) => {
      const { avatarKey } = changes
      const setsAvatar = avatarKey !== undefined && avatarKey !== null
      if (setsAvatar && !(await ownsPublicPicture(tx, userId, avatarKey))) throw notOwnPicture()
      await updateAccount(tx, userId, changes)
      await inSameTransaction(tx)
    })
    return read(userId, baseUrl)
  }
}

/** `profile: null` restores every default. */
const ALL_NULL = {
  name: null,
  locale: null,
  timezone: null,
  currency: null,
  avatarKey: null,
}

function validatePatch({ profile, onboardingCompleted }: ProfilePatch, defaults: DefaultValues) {
  const requested = profile === null ? ALL_NULL : (profile ?? {})
  const errors: ErrorDetail[] = []
  const changes = {
    ...field('name', (name) => name, ''),
    ...field('locale', asLocale, defaults.locale, 'a BCP 47 language tag such as en'),
    ...field('timezone', asTimezone, defaults.timezone, 'an IANA time zone such as Europe/Berlin'),
    ...field('currency', asCurrency, 'usd', 'an ISO 4217 code such as usd'),
    ...(requested.avatarKey === undefined ? {} : { avatarKey: requested.avatarKey }),
    ...(onboardingCompleted === undefined
      ? {}
      : { onboardingCompleted: onboardingCompleted ?? false }),
  }
  if (errors.length === 0) return changes
  throw invalidFields(errors)

  function field<K extends 'name' | 'locale' | 'timezone' | 'currency'>(
    name: K,
    normalize: (value: string) => string | null,
    defaultValue: string,
    expected = '',
  ): { [key in K]?: string } {
    const wanted = requested[name]
    if (wanted === undefined) return {}
    const value = wanted === null ? defaultValue : normalize(wanted)
    if (value === null) errors.push({ path: `profile.${name}`, message: `must be ${expected}` })
    return { [name]: value } as { [key in K]?: string }
  }
}

function notOwnPicture(): AppError {
  return invalidField('profile.avatarKey', 'must be the key of one of your public images')
}
