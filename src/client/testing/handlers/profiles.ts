import type { UserExport } from '../../client.ts'
import type { ActiveSubscription, ProfileChanges, SubscriptionLine } from '../../models.ts'
import { invalidField } from '../failure.ts'
import type { HandlersFor } from '../operations.ts'
import type { FakeRequest } from '../requests.ts'
import { iso, isoTime, type State, type User } from '../state.ts'
import { asCurrency, asLocale, asTimezone, checkFields } from '../validation.ts'
import type { OneTimeTokens } from './one-time-tokens.ts'
import type { Sessions } from './sessions.ts'
import { readLocale } from './sign-in.ts'

type ProfileDeps = {
  state: State
  sessions: Sessions
  tokens: OneTimeTokens
  deleteUser: (user: User) => void
  /** The parts of an export that other files know. */
  exportOthers: (
    user: User,
  ) => Omit<
    UserExport,
    'user' | 'account' | 'identities' | 'sessions' | 'devices' | 'pending' | 'changes'
  >
}

type Operation = 'readProfile' | 'changeProfile' | 'deleteProfile' | 'exportData'

/** Profiles, and all data of an account. */
export function createProfiles(deps: ProfileDeps) {
  const { state, sessions, tokens, deleteUser, exportOthers } = deps
  const { find, update, describe } = state
  const handlers: HandlersFor<Operation> = {
    readProfile: (_input, { userId }) => describe(find(userId)),
    changeProfile,
    deleteProfile(_input, { userId }) {
      const user = find(userId)
      const activeSubscriptions = activeIn(exportOthers(user).subscription.subscriptions)
      deleteUser(user)
      const message = 'The account and everything in it have been deleted.'
      return activeSubscriptions.length === 0 ? { message } : { message, activeSubscriptions }
    },
    exportData: (_input, { userId }) => exportUser(find(userId)),
  }
  return handlers

  function changeProfile({ profile, onboardingCompleted }: ProfileChanges, request: FakeRequest) {
    const user = find(request.userId)
    const wanted =
      profile === null
        ? { name: null, locale: null, timezone: null, currency: null, avatarKey: null }
        : { ...profile }
    const { locale, timezone } = readLocale(request)
    const faults: { path: string; message: string }[] = []
    const text = (
      name: 'name' | 'locale' | 'timezone' | 'currency',
      normalize: (value: string) => string | null,
      fallback: string,
      expected = 'text',
    ) => {
      const value = wanted[name]
      if (value === undefined) return {}
      const normal = value === null ? fallback : normalize(value)
      if (normal === null) faults.push({ path: `profile.${name}`, message: `must be ${expected}` })
      return { [name]: normal }
    }
    const limited = (name: string) => ([...name].length <= 100 ? name : null)
    const changes = {
      ...text('name', limited, '', 'text of at most 100 characters, or null'),
      ...text('locale', asLocale, locale, 'a BCP 47 language tag such as en'),
      ...text('timezone', asTimezone, timezone, 'an IANA time zone such as Europe/Berlin'),
      ...text('currency', asCurrency, 'usd', 'an ISO 4217 code such as usd'),
      ...(wanted.avatarKey === undefined ? {} : { avatarKey: wanted.avatarKey }),
      ...(onboardingCompleted === undefined
        ? {}
        : { onboardingCompleted: onboardingCompleted ?? false }),
    }
    checkFields(...faults)
    const isOwn = ({ key, type }: User['files'][number]) =>
      key === wanted.avatarKey && type === 'publicAsset'
    if (wanted.avatarKey && !user.files.some(isOwn))
      throw invalidField('profile.avatarKey', 'must be the key of one of your public images')
    update(user, changes)
    return describe(user)
  }

  function exportUser(user: User): UserExport {
    const { createdAt, updatedAt, emailVerifiedAt, twoFactorSince, password } = user
    return {
      user: describe(user),
      account: {
        createdAt: isoTime(createdAt),
        updatedAt: isoTime(updatedAt),
        emailVerifiedAt: iso(emailVerifiedAt),
        twoFactorSince: iso(twoFactorSince),
        hasPassword: password !== null,
        lastSeenAt: sessions.list(user.id, '')[0]?.lastUsedAt ?? null,
        platform: null,
        country: null,
      },
      identities: user.identities.map((identity) => ({
        ...identity,
        holdsGrant: false,
        createdAt: isoTime(identity.createdAt),
      })),
      sessions: sessions.list(user.id, ''),
      devices: [...user.devices].map(([device, at]) => ({ device, seenAt: isoTime(at) })),
      pending: tokens.listOf(user.id).map(({ purpose, email, expiresAt }) => {
        return { purpose, email, expiresAt: isoTime(expiresAt) }
      }),
      ...exportOthers(user),
      changes: [...user.changes].map(([kind, { at }]) => ({ kind, at: isoTime(at) })),
    }
  }
}

const MANAGEMENT_PAGES: Record<string, string> = {
  APP_STORE: 'https://apps.apple.com/account/subscriptions',
  PLAY_STORE: 'https://play.google.com/store/account/subscriptions',
}

/** The subscriptions that go on at their stores. */
function activeIn(lines: SubscriptionLine[]): ActiveSubscription[] {
  return lines.flatMap(({ store, productId, status, expiresAt, effectiveEndAt, willRenew }) => {
    if (/^(expired|refunded|consumed)$/.test(status) || expiresAt === null) return []
    const renews = willRenew || /^(paused|in_grace_period|in_billing_retry)$/.test(status)
    const managementUrl = MANAGEMENT_PAGES[store ?? ''] ?? null
    return { store, productId, expiresAt: effectiveEndAt, willRenew: renews, managementUrl }
  })
}
