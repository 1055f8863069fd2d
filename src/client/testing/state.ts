import type { UserProfile } from '../models.ts'
import type { Change, JsonObject } from '../user-data.ts'
import { emailTaken, failure } from './failure.ts'

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
  createdAt: number
  updatedAt: number
  /** Whether a two-factor secret waits for its first code. */
  hasSecret: boolean
  twoFactorSince: number | null
  recoveryCodes: string[]
  identities: Identity[]
  /** When each device was last seen, by its name. */
  devices: Map<string, number>
  files: StoredFile[]
  uploads: { idempotencyKey: string; fingerprint: string; keys: string[]; expiresAt: number }[]
  purchases: Purchase[]
  documents: { app: Document; server: Document }
  used: { name: string; startsAt: number; used: number }[]
  /** The latest change of each kind. */
  changes: Map<Change['kind'], { id: number; at: number }>
}

type Identity = {
  provider: 'google' | 'apple' | 'oidc'
  subject: string
  email: string | null
  createdAt: number
}

export type StoredFile = {
  key: string
  type: string
  fileName: string
  itemType: string
  size: number
  createdAt: number
  bytes: Uint8Array
  width?: number
  height?: number
}

/** A purchase in a store. Times are in ms; null: never. */
export type Purchase = {
  entitlement: string
  productId: string
  store: string
  environment: string
  transactionId: string
  periodType: string
  purchasedAt: number
  expiresAt: number | null
  graceExpiresAt: number | null
  willRenew: boolean
  cancelReason?: string
  unsubscribeDetectedAt?: number
  billingIssueDetectedAt?: number
  refundedAt?: number
  /** When something other than the end of the period has ended it. */
  endedAt: number | null
  pausedAt?: number
  autoResumeAt?: number
}

type Document = { content: JsonObject; updatedAt: number | null }

/** An e-mail that the server has sent. */
export type Mail = {
  to: string
  /** `verify-email`, `reset-password`, `email-code` … */
  kind: string
  /** The six digits to type in, if it contains any. */
  code?: string
  /** The `token` of the link, if it contains one. */
  token?: string
}

type Clock = { now: number }

export type State = ReturnType<typeof createState>
/** Identifies a user: the id, the address, or what a function has returned. */
export type UserReference = string | { _id: string }

/** The users of the fake server, its clock and its mails. */
export function createState(clock: Clock, url: string) {
  const users = new Map<string, User>()
  const mails: Mail[] = []
  const listeners: ((userId: string | null, kind: Change['kind']) => void)[] = []
  let ids = 0
  let changeIds = 0
  const changesForAll = new Map<Change['kind'], { id: number; at: number }>()
  return {
    users,
    mails,
    clock,
    url,
    newId,
    addUser,
    find,
    findByEmail,
    resolve,
    update,
    requireFreeEmail,
    recordChange,
    changesFor: (user: User) => new Map([...changesForAll, ...user.changes]),
    lastChange: () => changeIds,
    onChange: (listener: (typeof listeners)[number]) => void listeners.push(listener),
    describe,
    lastMailed,
  }

  /** An id in the format of the real server's, the same in every run. */
  function newId(): string {
    return `00000000-0000-7000-8000-${String(++ids).padStart(12, '0')}`
  }

  function addUser(fields: Partial<User> & Pick<User, 'loginType'>): User {
    const at = clock.now
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
      createdAt: at,
      updatedAt: at,
      hasSecret: false,
      twoFactorSince: null,
      recoveryCodes: [],
      identities: [],
      devices: new Map(),
      files: [],
      uploads: [],
      purchases: [],
      documents: {
        app: { content: {}, updatedAt: null },
        server: { content: {}, updatedAt: null },
      },
      used: [],
      changes: new Map(),
      ...fields,
    }
    users.set(user.id, user)
    return user
  }

  function find(id: string): User {
    const user = users.get(id)
    if (!user) throw failure('unauthenticated', 'This account no longer exists.')
    return user
  }

  function findByEmail(email: string): User | undefined {
    const key = emailKeyOf(email)
    return [...users.values()].find(
      (user) => user.ownsEmail && user.email !== null && emailKeyOf(user.email) === key,
    )
  }

  /** The user that a test names. */
  function resolve(reference: UserReference): User {
    const name = typeof reference === 'string' ? reference : reference._id
    const user = users.get(name) ?? findByEmail(name)
    if (!user) throw new TypeError(`The fake server has no user ${name}.`)
    return user
  }

  /** The newest code, or token of a link, that an address has received. */
  function lastMailed(name: 'code' | 'token', to: string): string {
    const key = emailKeyOf(to)
    const found = mails.findLast((mail) => emailKeyOf(mail.to) === key && mail[name] !== undefined)
    if (found?.[name] !== undefined) return found[name]
    throw new TypeError(`The fake server has sent no e-mail with a ${name} to ${to}.`)
  }

  function requireFreeEmail(email: string) {
    if (findByEmail(email)) throw emailTaken()
  }

  /** Changes what the user's apps see of the account. */
  function update(user: User, changes: Partial<User>) {
    const isSame = Object.entries(changes).every(
      ([name, value]) => user[name as keyof User] === value,
    )
    if (isSame) return
    Object.assign(user, changes, { updatedAt: clock.now })
    recordChange(user.id, 'profile')
  }

  /** Tells the user's apps that something has changed; `userId` null: every user's. */
  function recordChange(userId: string | null, kind: Change['kind']) {
    const change = { id: ++changeIds, at: clock.now }
    if (userId === null) changesForAll.set(kind, change)
    else users.get(userId)?.changes.set(kind, change)
    for (const listener of listeners) listener(userId, kind)
  }

  function describe(user: User): UserProfile {
    const { name, locale, timezone, currency, avatarKey } = user
    const enabled = user.twoFactorSince !== null
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
      twoFactor: {
        enabled,
        methods: enabled ? ['totp', 'recovery_code'] : [],
        recoveryCodesLeft: user.recoveryCodes.length,
      },
      onboardingCompleted: user.onboardingCompleted,
    }
  }
}

function emailKeyOf(email: string): string {
  return email.normalize('NFKC').toLowerCase()
}

/** ISO 8601; null for never. */
export function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}

export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
