import { findActiveSubscriptions } from '../../../../lib/active-subscriptions.ts'
import type { ErrorDetail } from '../../../../lib/errors.ts'
import { asCurrency, asLocale, asTimezone } from '../../../../lib/text/locale.ts'
import type { ProfileChanges } from '../../../models.ts'
import type { Handlers } from '../../handler-types.ts'
import type { FakeRequest } from '../../requests.ts'
import type { State, User } from '../../state.ts'
import { checkFields } from '../../validation.ts'
import type { Purchases } from '../purchases.ts'
import type { AccountSecurity } from './account-security.ts'
import { readLocale } from './sign-in.ts'

type ProfileDeps = { state: State; purchases: Purchases; security: AccountSecurity }

const TEXTS = {
  name: {
    parse: (name: string) => ([...name].length <= 100 ? name : null),
    expected: 'text of at most 100 characters, or null',
  },
  locale: { parse: asLocale, expected: 'a BCP 47 language tag such as en' },
  timezone: { parse: asTimezone, expected: 'an IANA time zone such as Europe/Berlin' },
  currency: { parse: asCurrency, expected: 'an ISO 4217 code such as usd' },
}
const RESET = { name: null, locale: null, timezone: null, currency: null, avatarKey: null }

export function createProfiles({ state, purchases, security }: ProfileDeps) {
  const { find, update, toProfile } = state
  return {
    readProfile: (_input, { userId }) => toProfile(find(userId)),
    changeProfile(changes, request) {
      const user = find(request.userId)
      update(user, readChanges(changes, request))
      return toProfile(user)
    },
    deleteProfile(_input, { userId }) {
      const user = find(userId)
      const activeSubscriptions = findActiveSubscriptions(purchases.read(user).subscriptions)
      security.deleteUser(user)
      const message = 'The account and everything in it have been deleted.'
      return activeSubscriptions.length === 0 ? { message } : { message, activeSubscriptions }
    },
  } satisfies Partial<Handlers>
}

/** Returns the account's changes; null restores a default. Throws `validation_failed` with all invalid fields. */
function readChanges(
  { profile, onboardingCompleted }: ProfileChanges,
  request: FakeRequest,
): Partial<User> {
  const { avatarKey, ...texts } = profile === null ? RESET : { ...profile }
  const defaults = { name: '', currency: 'usd', ...readLocale(request) }
  const changes: Partial<User> = {}
  const invalid: ErrorDetail[] = []
  for (const name of ['name', 'locale', 'timezone', 'currency'] as const) {
    const text = texts[name]
    if (text === undefined) continue
    const { parse, expected } = TEXTS[name]
    const value = text === null ? defaults[name] : parse(text)
    if (value === null) invalid.push({ path: `profile.${name}`, message: `must be ${expected}` })
    else changes[name] = value
  }
  checkFields(...invalid)
  if (avatarKey !== undefined) changes.avatarKey = avatarKey
  if (onboardingCompleted !== undefined) changes.onboardingCompleted = onboardingCompleted ?? false
  return changes
}
