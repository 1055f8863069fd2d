import { eq } from 'drizzle-orm'
import type { Db } from '../../db/open.ts'
import type { Tx } from '../../db/write.ts'
import type { Limits, WindowRule } from '../../http/limits.ts'
import { AppError } from '../../lib/errors.ts'
import { type Account, type Accounts, emailKeyOf } from './accounts.ts'
import type { MailKind } from './mail-texts.ts'
import type { OneTimeTokens, Purpose } from './one-time-tokens.ts'
import type { Outbox } from './outbox.ts'

export type AddressesDeps = {
  db: Db
  accounts: Accounts
  oneTimeTokens: OneTimeTokens
  outbox: Outbox
  limits: Limits
  /** What links in mails begin with, without a slash at the end. */
  linkBase: string
  now: () => Date
}

export type Addresses = ReturnType<typeof createAddresses>

const PER_RECIPIENT: WindowRule = { name: 'mail', most: 3, seconds: 60 * 60 }
const PER_ADDRESS: WindowRule = { name: 'mail-address', most: 30, seconds: 60 * 60 }

/** E-mail addresses: shown to be somebody's, changed, and used to get back in. */
export function createAddresses(deps: AddressesDeps) {
  const { db, accounts, oneTimeTokens, outbox, limits, linkBase, now } = deps
  const { users } = db.tables
  return { askToVerify, verify, resend, change, forgot, ownerOfReset, takeReset }

  /** Sends the mail that confirms a new account's address, as part of the change. */
  async function askToVerify(tx: Tx, user: Account) {
    if (user.email !== null) await sendLink(tx, user, 'verify-email', 'verify', user.email)
  }

  async function resend(userId: string, address: string) {
    const user = await accounts.find(db.read, userId)
    if (user.email === null || user.emailVerifiedAt !== null) {
      throw new AppError('conflict', 'There is no address to confirm.')
    }
    await reserveMail(user.email, address)
    await db.write((tx) => askToVerify(tx, user))
    outbox.nudge()
  }

  /** Confirms the address of an account, or lets a changed one take effect. */
  async function verify(token: string) {
    await db.write(async (tx) => {
      const confirmed = await oneTimeTokens.take(tx, 'verify-email', token)
      if (confirmed) return confirm(tx, confirmed.userId, confirmed.email)
      const changed = await oneTimeTokens.take(tx, 'change-email', token)
      if (!changed) throw spentLink()
      return replace(tx, changed.userId, changed.email ?? '')
    })
    outbox.nudge()
  }

  /** Sends a link to the new address; until it is opened nothing changes. */
  async function change(userId: string, email: string, address: string) {
    await reserveMail(email, address)
    await db.write(async (tx) => {
      const user = await accounts.find(tx, userId)
      const holder = await accounts.findByEmail(tx, email)
      if (holder && holder.id !== userId) throw addressTaken()
      await sendLink(tx, user, 'change-email', 'verify', email)
    })
    outbox.nudge()
  }

  /** Sends a link to choose a new password, if there is such an account. Nobody learns whether there is. */
  async function forgot(email: string, address: string) {
    await reserveMail(email, address)
    await db.write(async (tx) => {
      const user = await accounts.findByEmail(tx, email)
      if (user?.email) await sendLink(tx, user, 'reset-password', 'reset', user.email)
    })
    outbox.nudge()
  }

  async function ownerOfReset(from: Pick<Tx, 'select'>, token: string): Promise<Account> {
    const row = await oneTimeTokens.find(from, 'reset-password', token)
    if (!row) throw spentLink()
    return accounts.find(from, row.userId)
  }

  /** Uses up the token of a reset. Who holds it has read the mail: the address is proven. */
  async function takeReset(tx: Tx, token: string): Promise<Account> {
    const row = await oneTimeTokens.take(tx, 'reset-password', token)
    if (!row) throw spentLink()
    await confirm(tx, row.userId, row.email)
    return accounts.find(tx, row.userId)
  }

  /** The address may have changed since the mail was sent: then it proves nothing any more. */
  async function confirm(tx: Tx, userId: string, email: string | null) {
    const user = await accounts.find(tx, userId)
    if (user.email !== email) throw spentLink()
    await tx.update(users).set({ emailVerifiedAt: now() }).where(eq(users.id, userId))
  }

  async function replace(tx: Tx, userId: string, email: string) {
    const user = await accounts.find(tx, userId)
    const holder = await accounts.findByEmail(tx, email)
    if (holder && holder.id !== userId) throw addressTaken()
    const changes = { email, emailKey: emailKeyOf(email), emailVerifiedAt: now() }
    await tx.update(users).set(changes).where(eq(users.id, userId))
    if (user.email === null) return
    const { email: to, locale } = user
    await outbox.add(tx, { kind: 'mail', mail: 'email-changed', to, locale, detail: email })
  }

  async function sendLink(
    tx: Tx,
    user: Account,
    purpose: Purpose & MailKind,
    page: 'verify' | 'reset',
    to: string,
  ) {
    const token = await oneTimeTokens.issue(tx, purpose, user.id, to)
    const link = `${linkBase}/auth/${page}?token=${token}`
    await outbox.add(tx, { kind: 'mail', mail: purpose, to, locale: user.locale, link })
  }

  async function reserveMail(email: string, address: string) {
    await limits.reserve([
      { rule: PER_RECIPIENT, key: emailKeyOf(email) },
      { rule: PER_ADDRESS, key: address },
    ])
  }
}

function spentLink(): AppError {
  return new AppError(
    'unauthenticated',
    'This link was used before or is too old: ask for a new one.',
  )
}

function addressTaken(): AppError {
  return new AppError('email_taken', 'Another account has this e-mail address.')
}
