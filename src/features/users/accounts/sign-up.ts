import { AppError } from '../../../lib/errors.ts'
import { toEmailKey } from '../../../lib/text/email-address.ts'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import type { SignUpMode, UsersContext } from '../context/context.ts'
import type { OneTimeTokens } from '../credentials/one-time-tokens.ts'
import { linksTo, requireMailbox } from '../email/email-addresses.ts'
import { PRIORITY } from '../email/outbox-messages.ts'

export type SignUp = ReturnType<typeof createSignUp>

export function createSignUp(deps: UsersContext & { oneTimeTokens: OneTimeTokens }) {
  const { db, accounts, oneTimeTokens, outbox, links, signUpMode: mode } = deps
  return { isOpenTo, admit, requireOpen, requireInvitation, acceptInvitation, invite }

  /** Whether the user with this address may create an account. `provenEmail`: null if no address is proven. */
  async function isOpenTo(from: Reader, provenEmail: string | null): Promise<boolean> {
    if (mode !== 'invite') return mode === 'on'
    return provenEmail !== null && oneTimeTokens.findInvitation(from, provenEmail)
  }

  /** Whether the user may create an account. Consumes the invitation. */
  async function admit(tx: Tx, provenEmail: string | null): Promise<boolean> {
    if (!(await isOpenTo(tx, provenEmail))) return false
    if (provenEmail !== null)
      await oneTimeTokens.revokeOpen(tx, 'invitation', toEmailKey(provenEmail))
    return true
  }

  /** Throws `sign_up_closed` unless the user may create an account. Consumes the invitation. */
  async function requireOpen(tx: Tx, provenEmail: string | null) {
    if (!(await admit(tx, provenEmail))) throw signUpClosed(mode)
  }

  /** Returns whether an invitation proves the address. Throws `sign_up_closed` if registration requires one. */
  async function requireInvitation(from: Reader, email: string, token: string | undefined) {
    const hasInvitation = await isInvited(from, email, token)
    if (mode === 'on' || (mode === 'invite' && hasInvitation)) return hasInvitation
    throw signUpClosed(mode)
  }

  /** Consumes the invitation. Returns whether there was one. */
  async function acceptInvitation(tx: Tx, email: string, token: string | undefined) {
    const hasInvitation = await requireInvitation(tx, email, token)
    if (hasInvitation) await oneTimeTokens.revokeOpen(tx, 'invitation', toEmailKey(email))
    return hasInvitation
  }

  async function isInvited(from: Reader, email: string, token: string | undefined) {
    if (token === undefined) return false
    const invitation = await oneTimeTokens.find(from, 'invitation', token)
    return invitation?.emailKey === toEmailKey(email)
  }

  /** Sends an invitation, which replaces an earlier one. Throws `conflict` unless sign-up requires an invitation. */
  async function invite(typed: string, locale: string) {
    const email = requireMailbox(typed)
    if (mode !== 'invite') throw notByInvitation(mode)
    await db.write(async (tx) => {
      await accounts.requireFreeAddress(tx, email)
      const token = await oneTimeTokens.issueOpen(tx, 'invitation', email)
      const link = links.app === null ? {} : linksTo(links, 'invitation', token)
      const mail = { mail: 'invitation', to: email, locale, detail: email, ...link } as const
      const handling = { priority: PRIORITY.confirmation, userId: null, source: 'invitation' }
      await outbox.add(tx, { kind: 'mail', ...mail }, handling)
    })
  }
}

function signUpClosed(mode: SignUpMode): AppError {
  const message =
    mode === 'invite' ? 'New accounts need an invitation.' : 'New accounts are not accepted.'
  return new AppError('sign_up_closed', message)
}

function notByInvitation(mode: SignUpMode): AppError {
  const reason = mode === 'on' ? 'everyone can sign up' : 'sign-up is closed'
  return new AppError('conflict', `No invitation was sent: ${reason}. Set SIGN_UP=invite first.`)
}
