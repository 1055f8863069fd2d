import { toEmailKey } from '../../../lib/text/email-address.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { WindowRule } from '../../../platform/limits/limits.ts'
import type { Account } from '../accounts/accounts.ts'
import type { UsersContext } from '../context/context.ts'
import type { MailKind } from './mail-kinds.ts'
import { PRIORITY } from './outbox-messages.ts'

export type Notices = ReturnType<typeof createNotices>

export const REQUESTED_MAIL_LIMIT: WindowRule = { name: 'mail', max: 3, seconds: 60 * 60 }
/** For e-mails that an operator requests for a user. They must not use up the user's own limit. */
export const OPERATOR_MAIL_LIMIT: WindowRule = {
  name: 'mail-by-operator',
  max: 5,
  seconds: 60 * 60,
}
/** For unrequested e-mails to an unverified address, which may be a stranger's. */
export const UNVERIFIED_MAIL_LIMIT: WindowRule = { name: 'mail-unproven', max: 5, seconds: 60 * 60 }
/** Counted separately, so that a stranger's requests cannot use up the owner's notices. */
const NOTICE_LIMIT: WindowRule = { name: 'notice', max: 10, seconds: 60 * 60 }

/** E-mails that contain text written by the account's user. */
const WITH_FREE_TEXT: MailKind[] = ['new-device', 'token-reused', 'passkey-added']

export function createNotices({ limits, outbox }: UsersContext) {
  return { enqueueNotice }

  /** Queues a notice to the account's address, in the caller's transaction; false if too many were sent. */
  async function enqueueNotice(
    tx: Tx,
    user: Omit<Account, 'id'> & { id: string | null },
    mail: MailKind,
    content: { detail: string; link?: string },
  ): Promise<boolean> {
    const { id: userId, email, emailVerifiedAt, locale } = user
    if (email === null) return true
    const rule = emailVerifiedAt === null ? UNVERIFIED_MAIL_LIMIT : NOTICE_LIMIT
    if (!(await limits.countIfAllowed(tx, { rule, key: toEmailKey(email) }))) return false
    // The address may belong to someone else, who must not receive a text that the user has written.
    const hasFreeText = WITH_FREE_TEXT.includes(mail) && emailVerifiedAt === null
    const shown = hasFreeText ? { ...content, detail: '…' } : content
    const handling = { priority: PRIORITY.notice, userId, source: userId }
    const name = emailVerifiedAt === null ? '' : user.name
    await outbox.add(tx, { kind: 'mail', mail, to: email, locale, name, ...shown }, handling)
    return true
  }
}
