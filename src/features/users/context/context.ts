import type { Log } from '../../../lib/log/log.ts'
import type { Passwords } from '../../../lib/passwords/passwords.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { Limits } from '../../../platform/limits/limits.ts'
import type { Accounts } from '../accounts/accounts.ts'
import type { UserOutbox } from '../email/outbox-messages.ts'
import type { UserProfile } from '../profile/model.ts'
import type { UsersDb } from '../schema.ts'
import type { Tokens } from '../sessions/tokens.ts'
import type { AppleGrants } from '../social/apple-grants.ts'
import type { Identities } from '../social/identities.ts'
import type {
  AcceptsIdentity,
  IdentityProviders,
  VerifyIdToken,
} from '../social/identity-providers.ts'

/** Who may create an account: everyone, users with an invitation, or only operators and servers. */
export type SignUpMode = 'on' | 'invite' | 'off'

/** The relying party of users' passkeys: its id (a host name), and the origins that may use them. */
export type RelyingParty = { rpId: string; origins: string[] }

/** The base URLs of links in e-mails: the app's, and that of our pages (ends in `/auth`). At least one is set. */
export type MailLinks = { app: string | null; page: string | null }

/** What all services of this feature share. */
export type UsersContext = {
  db: UsersDb
  accounts: Accounts
  identities: Identities
  outbox: UserOutbox
  tokens: Tokens
  limits: Limits
  sealKey: Uint8Array
  recoveryKey: Uint8Array
  passwordMinLength: number
  signUpMode: SignUpMode
  relyingParty: RelyingParty
  passwords: Passwords
  appName: string
  links: MailLinks
  verifyIdToken: VerifyIdToken
  acceptsIdentity: AcceptsIdentity
  /** The OpenID Connect provider: its issuer (null if there is none), and its name in notices. */
  openId: { issuer: string | null; name: string }
  /** Null if the keys that Apple requires are not set. */
  appleGrants: AppleGrants | null
  apple: IdentityProviders['apple']
  readProfile: (userId: string, baseUrl: string) => Promise<UserProfile>
  /** In the caller's transaction. */
  mergeGuest: (tx: Tx, guestId: string, userId: string) => Promise<void>
  deleteAccount: (userId: string) => Promise<unknown>
  /** Whether a user had access from a purchase, or stored a file, at `since` or later. */
  hasRecentAssets: (userId: string, since: Date) => Promise<boolean>
  /** Called in the transaction that ends sessions before they expire. */
  onSessionsEnded: (tx: Tx, sessions: { id: string; userId: string }[]) => Promise<void>
  now: () => Date
  newId: () => string
  log: Log
}
