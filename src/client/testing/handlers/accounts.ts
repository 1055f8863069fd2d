import { failure, invalidField, invalidLink, wrongCode } from '../failure.ts'
import type { HandlersFor } from '../operations.ts'
import type { FakeRequest } from '../requests.ts'
import type { State, User } from '../state.ts'
import { checkFields, emailFault, passwordFault } from '../validation.ts'
import type { OneTimeTokens } from './one-time-tokens.ts'
import type { Sessions } from './sessions.ts'

type AccountDeps = {
  state: State
  sessions: Sessions
  tokens: OneTimeTokens
  checkTwoFactor: (user: User, code: string) => boolean
  useCode: (user: User, code: string | undefined) => void
  secure: (userId: string, keptSession: string | null) => void
  /** Removes what a stranger may have set up before the address was verified. */
  removeUntrusted: (user: User) => void
}

type Operation =
  | 'listSessions'
  | 'endSession'
  | 'changePassword'
  | 'forgotPassword'
  | 'resetPassword'
  | 'verifyEmail'
  | 'resendVerification'
  | 'changeEmail'
  | 'cancelEmailChange'
  | 'setUpTwoFactor'
  | 'confirmTwoFactor'
  | 'renewRecoveryCodes'
  | 'disableTwoFactor'

const SECRET = 'JBSWY3DPEHPK3PXP'
const ON_ITS_WAY = 'An e-mail is on its way.'

/** Passwords, addresses, two-factor and devices. */
export function createAccounts(deps: AccountDeps) {
  const { state, sessions, tokens, checkTwoFactor, useCode, secure, removeUntrusted } = deps
  const { find, findByEmail, update, mails, clock } = state
  let codes = 0
  /** The links that have confirmed an address. */
  const confirmedBy = new Map<string, { email: string | null; userId: string; expiresAt: number }>()
  const handlers: HandlersFor<Operation> = {
    listSessions: (_input, { userId, sessionId }) => sessions.list(userId, sessionId),
    endSession(_input, { userId, sessionId, query }) {
      const { id = '' } = query
      if (id === 'others') secure(userId, sessionId)
      else sessions.endOne(userId, id)
      return { message: 'The session has ended.' }
    },
    changePassword({ currentPassword, newPassword, code }, { userId, sessionId }) {
      const user = checkPassword(userId, currentPassword)
      useCode(user, code)
      setPassword(user, newPassword)
      secure(userId, sessionId)
      return { message: 'The password has been changed. Other devices are signed out.' }
    },
    forgotPassword({ email }) {
      const user = findByEmail(email)
      if (user?.email) sendLink('reset-password', user, user.email)
      return { message: 'If the account exists, an e-mail is on its way.' }
    },
    resetPassword({ token, newPassword }) {
      const link = tokens.find('reset-password', token)
      if (!link) throw invalidLink()
      const user = find(link.userId)
      setPassword(user, newPassword)
      removeUntrusted(user)
      update(user, { emailVerifiedAt: clock.now })
      secure(user.id, null)
      return { message: 'The new password is set. You can now sign in with it.' }
    },
    verifyEmail({ token }) {
      const verified = tokens.consume('verify-email', token)
      const changed = verified ? null : tokens.consume('change-email', token)
      const link = verified ?? changed
      if (!link && isConfirmedBy(token)) return { message: 'The address is already confirmed.' }
      if (!link) throw invalidLink()
      const user = find(link.userId)
      if (changed) replaceAddress(user, link.email ?? '')
      else if (user.email !== link.email) throw invalidLink()
      update(user, { emailVerifiedAt: clock.now })
      confirmedBy.set(token, link)
      return { message: 'The address is confirmed.' }
    },
    resendVerification(_input, { userId }) {
      const user = find(userId)
      if (user.email === null || user.emailVerifiedAt !== null)
        throw failure('conflict', 'There is no address to confirm.')
      sendLink('verify-email', user, user.email)
      return { message: ON_ITS_WAY }
    },
    changeEmail({ password, email, code }, request) {
      const user = proveOwner(request, password)
      useCode(user, code)
      checkFields(emailFault(email))
      requireUnheld(user, email)
      sendLink('change-email', user, email)
      const token = tokens.issue('cancel-email-change', { userId: user.id })
      if (user.email !== null) mails.push({ to: user.email, kind: 'email-change-requested', token })
      return {
        message:
          'An e-mail is on its way to the new address. Nothing changes until you open its link.',
      }
    },
    cancelEmailChange({ token }) {
      const link = tokens.consume('cancel-email-change', token)
      if (!link) throw invalidLink()
      tokens.revoke(link.userId)
      return {
        message: 'The address is unchanged. Choose a new password: someone else knows yours.',
      }
    },
    setUpTwoFactor({ password }, request) {
      const user = proveOwner(request, password)
      if (user.twoFactorSince !== null) throw alreadyOn()
      user.hasSecret = true
      const account = encodeURIComponent(user.email ?? user.id)
      return {
        secret: SECRET,
        otpauthUrl: `otpauth://totp/App:${account}?secret=${SECRET}&issuer=App`,
        qrSvg: '<svg xmlns="http://www.w3.org/2000/svg"/>',
      }
    },
    confirmTwoFactor({ code }, { userId, sessionId }) {
      const user = find(userId)
      if (!user.hasSecret || !/^\d/.test(code) || !checkTwoFactor(user, code)) throw wrongCode()
      if (user.twoFactorSince !== null) {
        // The app may have missed the reply.
        if (clock.now - user.twoFactorSince > 5 * 60_000) throw alreadyOn()
        return { recoveryCodes: user.recoveryCodes }
      }
      Object.assign(user, { twoFactorSince: clock.now, recoveryCodes: newCodes() })
      secure(userId, sessionId)
      return { recoveryCodes: user.recoveryCodes }
    },
    renewRecoveryCodes({ password, code }, request) {
      const user = proveTwoFactor(request, password, code)
      user.recoveryCodes = newCodes()
      return { recoveryCodes: user.recoveryCodes }
    },
    disableTwoFactor({ password, code }, request) {
      const user = proveTwoFactor(request, password, code)
      Object.assign(user, { hasSecret: false, twoFactorSince: null, recoveryCodes: [] })
      secure(user.id, request.sessionId)
      return { message: 'Two-factor is off. Other devices are signed out.' }
    },
  }
  return handlers

  /** Users without a password must have signed in recently. */
  function proveOwner({ userId, sessionId }: FakeRequest, password: string | undefined): User {
    const user = find(userId)
    if (user.password !== null || user.loginType === 'guest') {
      if (password === undefined) throw invalidField('password', 'is required')
      return checkPassword(userId, password)
    }
    if (clock.now - sessions.openedAt(sessionId) > 10 * 60_000)
      throw failure('recent_sign_in_required', 'Sign in again to confirm that it is you.')
    return user
  }

  function checkPassword(userId: string, password: string): User {
    const user = find(userId)
    if (user.password === null || user.password !== password)
      throw failure('invalid_credentials', 'The password is wrong.')
    return user
  }

  function proveTwoFactor(request: FakeRequest, password: string | undefined, code: string): User {
    const user = proveOwner(request, password)
    if (user.twoFactorSince === null)
      throw failure('conflict', 'Two-factor authentication is not on.')
    if (!checkTwoFactor(user, code)) throw wrongCode()
    return user
  }

  function isConfirmedBy(token: string): boolean {
    const used = confirmedBy.get(token)
    if (!used || used.expiresAt <= clock.now) return false
    return findByEmail(used.email ?? '')?.id === used.userId
  }

  function setPassword(user: User, password: string) {
    checkFields(passwordFault(password, 'newPassword', [user.email, user.name]))
    user.password = password
  }

  function sendLink(
    kind: 'verify-email' | 'change-email' | 'reset-password',
    { id: userId }: User,
    to: string,
  ) {
    mails.push({ to, kind, token: tokens.issue(kind, { userId, email: to }) })
  }

  function replaceAddress(user: User, email: string) {
    requireUnheld(user, email)
    if (user.email !== null) mails.push({ to: user.email, kind: 'email-changed' })
    update(user, { email, ownsEmail: true })
    tokens.revoke(user.id)
  }

  function requireUnheld(user: User, email: string) {
    const holder = findByEmail(email)
    if (holder && holder !== user)
      throw failure('email_taken', 'Another account has this e-mail address.')
  }

  function newCodes(): string[] {
    return Array.from({ length: 10 }, () => `fake${String(++codes).padStart(6, '0')}`)
  }
}

function alreadyOn() {
  return failure('conflict', 'Two-factor authentication is already on.')
}
