import { AppError, invalidField, notFound } from '../../../lib/errors.ts'
import { asLocale, asTimezone } from '../../../lib/text/locale.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { Account } from '../accounts/accounts.ts'
import { type Directory, requireAddress } from '../accounts/directory.ts'
import type { PasswordLogin } from '../credentials/password-login.ts'
import type { ProfilePatch } from '../profile/model.ts'
import type { Profile } from '../profile/service.ts'

type ServerUsersDeps = {
  directory: Pick<Directory, 'findById' | 'setEmailVerifiedWithin'>
  passwordLogin: Pick<PasswordLogin, 'create'>
  profile: Pick<Profile, 'change'>
}

type NewUser = {
  email: string
  password?: string
  emailVerified?: boolean
  name?: string
  locale?: string
  timezone?: string
}

export type ServerUsers = ReturnType<typeof createServerUsers>

const DEFAULTS = { locale: 'en', timezone: 'utc' }

export function createServerUsers({ directory, passwordLogin, profile }: ServerUsersDeps) {
  return { create, change }

  /** Without a password, the user sets one with “forgot password”. Sends no e-mail. */
  async function create(user: NewUser): Promise<Account> {
    const { email, password = null, emailVerified = false, name = '' } = user
    const locale = asLocale(user.locale ?? DEFAULTS.locale)
    const timezone = asTimezone(user.timezone ?? DEFAULTS.timezone)
    if (locale === null) throw invalidField('locale', 'must be a BCP 47 language tag such as en')
    if (timezone === null) throw invalidField('timezone', 'must be an IANA time zone such as utc')
    return passwordLogin.create({ email, password, emailVerified, name, locale, timezone })
  }

  /** Applies a merge patch. Throws `not_found` for an unknown user. */
  async function change(id: string, patch: ProfilePatch & { emailVerified?: boolean }) {
    const { emailVerified, ...profilePatch } = patch
    const account = await directory.findById(id)
    if (emailVerified !== undefined) requireAddress(account)
    const before = { emailVerified: account.emailVerifiedAt !== null }
    const verify = async (tx: Tx) => {
      if (emailVerified !== undefined)
        await directory.setEmailVerifiedWithin(tx, account, emailVerified)
    }
    await profile.change(id, profilePatch, DEFAULTS, '', verify).catch((error) => {
      // The user was deleted in the meantime; a 401 would mean that the API key is invalid.
      throw error instanceof AppError && error.denial ? notFound() : error
    })
    return { before, account: await directory.findById(id) }
  }
}
