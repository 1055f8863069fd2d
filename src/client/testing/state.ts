import { AppError, accountDeleted } from '../../lib/errors.ts'
import type { SubscriptionLine, UserProfile } from '../models.ts'
import type { Change } from '../user-changes.ts'
import type { Mail, UserReference } from './types.ts'

/** A user of the fake server. Times are in ms since 1970. */
export type User = {
  id: string
  loginType: string
  email: string | null
  /** Whether the user can sign in with the address. */
  ownsEmail: boolean
  emailVerifiedAt: number | null
  password: string | null
  name: string
  locale: string
  timezone: string
  currency: string
  avatarKey: string | null
  onboardingCompleted: boolean
  /** Whether a two-factor secret waits for its first code. */
  hasSecret: boolean
  twoFactorSince: number | null
  recoveryCodes: string[]
  /** The linked identities: the provider and the id at the provider. */
  identities: string[]
  devices: Set<string>
  purchases: Purchase[]
  /** The latest change of each kind, by its number. */
  changes: Map<Change['kind'], number>
}

/** A purchase in a store. Times are in ms; Infinity: never. */
export type Purchase = {
  entitlement: string
  environment: string
  transactionId: string
  purchasedAt: number
  expiresAt: number
  /** 0 without a grace period. */
  graceExpiresAt: number
  /** When the purchase ended for a reason other than the end of its period. */
  endedAt: number
  /** The part of a reply that does not depend on the time. */
  details: Details
}

type Details = Pick<SubscriptionLine, 'store' | 'periodType' | 'willRenew'> & {
  productId: string
} & Partial<SubscriptionLine>

type Clock = { now: number }

export type State = ReturnType<typeof createState>

export function createState(clock: Clock, url: string) {
  const users = new Map<string, User>()
  const mails: Mail[] = []
  const listeners: ((userId: string | null, kind: Change['kind']) => void)[] = []
  /** Functions that move a guest's data to the account that the guest signs in to. */
  const mergers: ((guest: User, user: User) => void)[] = []
  const changesForAll: User['changes'] = new Map()
  let ids = 0
  let changes = 0
  return {
    url,
    users,
    mails,
    clock,
    newId,
    addUser,
    find,
    findByEmail,
    resolve,
    update,
    requireFreeEmail,
    recordChange,
    changesFor: (user: User) => new Map([...changesForAll, ...user.changes]),
    countChanges: () => changes,
    onChange: (listener: (typeof listeners)[number]) => void listeners.push(listener),
    mergers,
    toProfile,
    lastMailed,
  }

  /** Returns an id in the real server's format, the same in every run. */
  function newId(): string {
    return `00000000-0000-7000-8000-${String(++ids).padStart(12, '0')}`
  }

  function addUser(fields: Partial<User> & Pick<User, 'loginType'>): User {
    const user: User = {
      id: newId(),
      email: null,
      ownsEmail: false,
      emailVerifiedAt: null,
      password: null,
      name: '',
      locale: 'en',
      timezone: 'utc',
      currency: 'usd',
      avatarKey: null,
      onboardingCompleted: false,
      hasSecret: false,
      twoFactorSince: null,
      recoveryCodes: [],
      identities: [],
      devices: new Set(),
      purchases: [],
      changes: new Map(),
      ...fields,
    }
    users.set(user.id, user)
    return user
  }

  function find(id: string): User {
    const user = users.get(id)
    if (!user) throw accountDeleted(id)
    return user
  }

  function findByEmail(email: string): User | undefined {
    const key = toEmailKey(email)
    return [...users.values()].find(
      (user) => user.ownsEmail && user.email !== null && toEmailKey(user.email) === key,
    )
  }

  function resolve(reference: UserReference): User {
    const name = typeof reference === 'string' ? reference : reference._id
    const user = users.get(name) ?? findByEmail(name)
    if (!user) throw new TypeError(`The fake server has no user ${name}.`)
    return user
  }

  /** The newest code, or token of a link, that an address has received. */
  function lastMailed(name: 'code' | 'token', to: string): string {
    const key = toEmailKey(to)
    const found = mails.findLast((mail) => toEmailKey(mail.to) === key && mail[name] !== undefined)
    if (found?.[name] !== undefined) return found[name]
    throw new TypeError(`The fake server has sent no e-mail with a ${name} to ${to}.`)
  }

  function requireFreeEmail(email: string) {
    if (!findByEmail(email)) return
    const message = 'An account with this e-mail address already exists: sign in instead.'
    throw new AppError('email_taken', message)
  }

  function update(user: User, fields: Partial<User>) {
    const isSame = Object.entries(fields).every(
      ([name, value]) => user[name as keyof User] === value,
    )
    if (isSame) return
    Object.assign(user, fields)
    recordChange(user.id, 'profile')
  }

  /** Notifies the user's apps of a change; `userId` null: all users' apps. */
  function recordChange(userId: string | null, kind: Change['kind']) {
    const changed = userId === null ? changesForAll : users.get(userId)?.changes
    changed?.set(kind, ++changes)
    for (const listener of listeners) listener(userId, kind)
  }

  function toProfile(user: User): UserProfile {
    const { name, locale, timezone, currency, avatarKey, recoveryCodes } = user
    const enabled = user.twoFactorSince !== null
    const methods = enabled ? ['totp', 'recovery_code'] : []
    return {
      _id: user.id,
      loginType: user.loginType,
      email: user.email ?? '',
      emailVerified: user.emailVerifiedAt !== null,
      profile: {
        name,
        locale,
        timezone,
        currency,
        avatarUrl: avatarKey && `${url}/files/${avatarKey}`,
      },
      twoFactor: { enabled, methods, recoveryCodesLeft: recoveryCodes.length },
      onboardingCompleted: user.onboardingCompleted,
    }
  }
}

function toEmailKey(email: string): string {
  return email.normalize('NFKC').toLowerCase()
}

/** ISO 8601; null for null and Infinity, which mean never. */
export function toIso(ms: number | null): string | null {
  return ms === null || ms === Infinity ? null : new Date(ms).toISOString()
}
