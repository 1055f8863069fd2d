import { AppError, invalidField } from '../../../lib/errors.ts'
import { parseMailbox, toEmailKey, trimAddress } from '../../../lib/text/email-address.ts'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import type { Limit, WindowRule } from '../../../platform/limits/limits.ts'
import type { AccountSecurity } from '../accounts/account-security.ts'
import type { Account } from '../accounts/accounts.ts'
import type { MailLinks, UsersContext } from '../context/context.ts'
import type { OneTimeTokens, Purpose } from '../credentials/one-time-tokens.ts'
import type { RecheckPassword } from '../credentials/password-proof.ts'
import type { MailKind } from './mail-kinds.ts'
import {
  type Notices,
  OPERATOR_MAIL_LIMIT,
  REQUESTED_MAIL_LIMIT,
  UNVERIFIED_MAIL_LIMIT,
} from './notices.ts'
import { PRIORITY } from './outbox-messages.ts'

type EmailAddressesDeps = UsersContext & {
  oneTimeTokens: OneTimeTokens
  notices: Notices
  accountSecurity: AccountSecurity
}

export type EmailAddresses = ReturnType<typeof createEmailAddresses>

const PAGE_PURPOSES = {
  verify: ['verify-email', 'change-email'],
  cancel: ['cancel-email-change'],
  reset: ['reset-password'],
  invitation: ['invitation'],
} as const

const PER_IP: WindowRule = { name: 'mail-address', max: 'mails', seconds: 60 * 60 }

export function createEmailAddresses(deps: EmailAddressesDeps) {
  const { db, accounts, oneTimeTokens, outbox, notices, accountSecurity, limits } = deps
  const { links } = deps
  return {
    sendVerification,
    verify,
    /** Whether the account still has the address that this link has confirmed. */
    isConfirmedBy: (token: string) => findConfirmed(db.read, token),
    appLink: links.app,
    resend,
    change,
    cancelChange,
    requestReset,
    sendReset,
    requireLink,
    findResetOwner,
    consumeResetToken,
  }

  /** Sends nothing if the address got too many e-mails. */
  async function sendVerification(tx: Tx, user: Account, ip: string) {
    if (user.email === null) return
    const isAllowed = await limits.countIfAllowed(tx, {
      rule: UNVERIFIED_MAIL_LIMIT,
      key: toEmailKey(user.email),
    })
    if (isAllowed) await sendLink(tx, user, 'verify-email', user.email, ip)
  }

  /** Sends the verification e-mail again. `ip`: of the user, or null for an operator's request. */
  async function resend(userId: string, ip: string | null) {
    const user = await accounts.find(db.read, userId)
    if (user.email === null || user.emailVerifiedAt !== null) {
      throw new AppError('conflict', 'There is no address to confirm.')
    }
    const { email } = user
    if (ip !== null) await reserveMailLimit(email, ip)
    else await limits.reserve([{ rule: OPERATOR_MAIL_LIMIT, key: toEmailKey(email) }])
    await db.write((tx) => sendLink(tx, user, 'verify-email', email, ip ?? 'operator'))
  }

  /** Verifies or changes the address. Returns whether this is the link's first use: mail programs open links too. */
  async function verify(token: string): Promise<boolean> {
    return db.write(async (tx) => {
      const confirmed = await oneTimeTokens.consume(tx, 'verify-email', token)
      const changed = confirmed ? null : await oneTimeTokens.consume(tx, 'change-email', token)
      const link = confirmed ?? changed
      if (!link && (await findConfirmed(tx, token))) return false
      if (!link) throw invalidLink()
      if (confirmed) await confirmAddress(tx, link.userId, link.email)
      else await replaceAddress(tx, link.userId, link.email ?? '')
      await oneTimeTokens.keepUsed(tx, link)
      return true
    })
  }

  async function findConfirmed(from: Reader, token: string): Promise<boolean> {
    const link = await oneTimeTokens.find(from, 'confirmed', token)
    if (!link) return false
    const { email, emailVerifiedAt } = await accounts.find(from, link.userId)
    return email === link.email && emailVerifiedAt !== null
  }

  /**
   * The address changes once the link sent to the new address is opened. A thief may know the password, so a link sent
   * to the old address cancels the change.
   */
  async function change(
    userId: string,
    email: string,
    ip: string,
    recheckPassword: RecheckPassword,
  ) {
    requireMailbox(email)
    await limits.reserve([networkMailLimit(ip)])
    await db.write(async (tx) => {
      await recheckPassword(tx)
      const user = await accounts.find(tx, userId)
      await accounts.requireFreeAddress(tx, email, userId)
      // Counted only now, so that a stranger cannot use up the password resets of the address's owner.
      if (!(await limits.countIfAllowed(tx, requestedMailLimit(email)))) throw tooManyChanges()
      await sendLink(tx, user, 'change-email', email, ip)
      const token = await oneTimeTokens.issue(tx, 'cancel-email-change', userId)
      // Older apps do not handle this link, so our page comes first.
      const link = `${links.page ?? links.app}/cancel?token=${token}`
      const isEnqueued = await notices.enqueueNotice(tx, user, 'email-change-requested', {
        detail: email,
        link,
      })
      // The owner of a verified address must be notified. An unverified address may be mistyped.
      if (!isEnqueued && user.emailVerifiedAt !== null) throw tooManyChanges()
    })
  }

  async function cancelChange(token: string) {
    await db.write(async (tx) => {
      const cancelled = await oneTimeTokens.consume(tx, 'cancel-email-change', token)
      if (!cancelled) throw invalidLink()
      await oneTimeTokens.revoke(tx, cancelled.userId)
    })
  }

  /** Queues a password reset. The response takes as long for unknown addresses as for known ones. */
  async function requestReset(email: string, ip: string) {
    await reserveMailLimit(email, ip)
    const handling = { priority: PRIORITY.reset, userId: null, source: ip }
    await db.write((tx) => outbox.add(tx, { kind: 'forgotten-password', email, ip }, handling))
  }

  async function sendReset(email: string, ip: string | null) {
    await db.write(async (tx) => {
      const user = await accounts.findByEmail(tx, email)
      if (user?.email) await sendLink(tx, user, 'reset-password', user.email, ip)
    })
  }

  /** Throws unless the token is valid for the page. Does not consume it. */
  async function requireLink(page: keyof typeof PAGE_PURPOSES, token: string) {
    for (const purpose of PAGE_PURPOSES[page]) {
      if (await oneTimeTokens.find(db.read, purpose, token)) return
    }
    throw invalidLink()
  }

  async function findResetOwner(from: Reader, token: string): Promise<Account> {
    const row = await oneTimeTokens.find(from, 'reset-password', token)
    if (!row) throw invalidLink()
    return accounts.find(from, row.userId)
  }

  /** The user has read the e-mail, so this verifies the address and removes what a stranger may have set up. */
  async function consumeResetToken(tx: Tx, token: string): Promise<Account> {
    const row = await oneTimeTokens.consume(tx, 'reset-password', token)
    if (!row) throw invalidLink()
    await accountSecurity.removeUntrustedSignInMethods(tx, await accounts.find(tx, row.userId))
    await confirmAddress(tx, row.userId, row.email)
    return accounts.find(tx, row.userId)
  }

  /** Marks the address as verified. Refuses a link sent to an address that the account no longer has. */
  async function confirmAddress(tx: Tx, userId: string, email: string | null) {
    const user = await accounts.find(tx, userId)
    if (email === null || user.email !== email) throw invalidLink()
    await accounts.setVerifiedAddress(tx, userId, email)
  }

  async function replaceAddress(tx: Tx, userId: string, email: string) {
    const user = await accounts.find(tx, userId)
    await accounts.setVerifiedAddress(tx, userId, email)
    // Verification links are kept, but one sent to the old address does not verify the new one.
    await oneTimeTokens.revoke(tx, userId)
    await notices.enqueueNotice(tx, user, 'email-changed', { detail: email })
  }

  async function sendLink(
    tx: Tx,
    user: Account,
    purpose: Purpose & MailKind,
    to: string,
    ip: string | null,
  ) {
    const page = purpose === 'reset-password' ? 'reset' : 'verify'
    const token = await oneTimeTokens.issue(tx, purpose, user.id, to)
    const { id: userId, locale } = user
    const priority = page === 'reset' ? PRIORITY.reset : PRIORITY.confirmation
    const mail = {
      kind: 'mail',
      mail: purpose,
      to,
      locale,
      name: to === user.email && user.emailVerifiedAt !== null ? user.name : '',
      ...linksTo(links, page, token),
    } as const
    await outbox.add(tx, mail, { priority, userId, source: ip })
  }

  /** Throws `rate_limited`. */
  async function reserveMailLimit(email: string, ip: string) {
    await limits.reserve([requestedMailLimit(email), networkMailLimit(ip)])
  }
}

/** The links of an e-mail: to the app, and also to our page, because mail services remove links with app schemes. */
export function linksTo({ app, page }: MailLinks, name: string, token: string) {
  const path = `${name}?token=${token}`
  return { link: `${app ?? page}/${path}`, ...(app && page ? { page: `${page}/${path}` } : {}) }
}

export function requestedMailLimit(email: string): Limit {
  return { rule: REQUESTED_MAIL_LIMIT, key: toEmailKey(email) }
}

function networkMailLimit(ip: string): Limit {
  return { rule: PER_IP, key: ip }
}

/** Trims the address. Throws `validation_failed` unless mail can be sent to it. */
export function requireMailbox(typed: string): string {
  const email = trimAddress(typed)
  if (parseMailbox(email) !== null) return email
  throw invalidField('email', 'must be an e-mail address')
}

function tooManyChanges(): AppError {
  return new AppError('rate_limited', 'Too many requests to change the address. Try again later.', {
    retryAfterSeconds: 60 * 60,
  })
}

function invalidLink(): AppError {
  return new AppError(
    'unauthenticated',
    'This link was already used or has expired: request a new one.',
    { denial: { reason: 'unknown_token' } },
  )
}
