import { AppError, invalidField, wrongCode } from '../../../../lib/errors.ts'
import { MINUTE_MS } from '../../../../lib/time/durations.ts'
import { invalidCredentials, invalidLink } from '../../failure.ts'
import type { Handlers } from '../../handler-types.ts'
import type { FakeRequest } from '../../requests.ts'
import type { User } from '../../state.ts'
import { checkFields, checkPassword } from '../../validation.ts'
import { passSecondStep, requireSecondStep } from './second-step.ts'
import type { AccountDeps } from './sign-in.ts'

const SECRET = 'JBSWY3DPEHPK3PXP'

export function createAccounts({ state, sessions, tokens, security }: AccountDeps) {
  const { find, findByEmail, update, mails, clock } = state
  const { secure, removeUntrusted } = security
  let codes = 0
  return {
    listSessions: (_input, { userId, sessionId }) => sessions.list(userId, sessionId),
    endSession(_input, { userId, sessionId, query }) {
      const { id = '' } = query
      if (id === 'others') secure(userId, sessionId)
      else sessions.endOne(userId, id)
      return { message: 'The session has ended.' }
    },
    changePassword({ currentPassword, newPassword, code }, { userId, sessionId }) {
      const user = provePassword(userId, currentPassword)
      requireSecondStep(user, code)
      setPassword(user, newPassword)
      secure(userId, sessionId)
      return { message: 'The password has been changed. Other devices have been signed out.' }
    },
    forgotPassword({ email }) {
      const user = findByEmail(email)
      if (user?.email) sendLink('reset-password', user.id, user.email)
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
      const link = tokens.find('verify-email', token)
      if (!link) throw invalidLink()
      const user = find(link.userId)
      update(user, { emailVerifiedAt: user.emailVerifiedAt ?? clock.now })
      return { message: 'The address has been confirmed.' }
    },
    resendVerification(_input, { userId }) {
      const { email, emailVerifiedAt } = find(userId)
      if (email === null || emailVerifiedAt !== null)
        throw new AppError('conflict', 'There is no address to confirm.')
      sendLink('verify-email', userId, email)
      return { message: 'An e-mail is on its way.' }
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
      const { hasSecret, twoFactorSince } = user
      if (!hasSecret || !/^\d/.test(code) || !passSecondStep(user, code)) throw wrongCode(userId)
      // The app may have missed the reply.
      if (twoFactorSince !== null && clock.now - twoFactorSince > 5 * MINUTE_MS) throw alreadyOn()
      if (twoFactorSince === null) {
        Object.assign(user, { twoFactorSince: clock.now, recoveryCodes: makeCodes() })
        secure(userId, sessionId)
      }
      return { recoveryCodes: user.recoveryCodes }
    },
    renewRecoveryCodes({ password, code }, request) {
      const user = proveTwoFactor(request, password, code)
      user.recoveryCodes = makeCodes()
      return { recoveryCodes: user.recoveryCodes }
    },
    disableTwoFactor({ password, code }, request) {
      const user = proveTwoFactor(request, password, code)
      Object.assign(user, { hasSecret: false, twoFactorSince: null, recoveryCodes: [] })
      secure(user.id, request.sessionId)
      return { message: 'Two-factor is off. Other devices have been signed out.' }
    },
  } satisfies Partial<Handlers>

  /** Users without a password must have signed in recently. */
  function proveOwner({ userId, sessionId }: FakeRequest, password: string | undefined): User {
    const user = find(userId)
    if (user.password !== null || user.loginType === 'guest') {
      if (password === undefined) throw invalidField('password', 'is required')
      return provePassword(userId, password)
    }
    if (clock.now - sessions.openedAt(sessionId) <= 10 * MINUTE_MS) return user
    throw new AppError('recent_sign_in_required', 'Sign in again to confirm that it is you.')
  }

  function provePassword(userId: string, password: string): User {
    const user = find(userId)
    if (user.password === null || user.password !== password)
      throw invalidCredentials('The password is wrong.')
    return user
  }

  function proveTwoFactor(request: FakeRequest, password: string | undefined, code: string): User {
    const user = proveOwner(request, password)
    if (user.twoFactorSince === null)
      throw new AppError('conflict', 'Two-factor authentication is not on.')
    if (!passSecondStep(user, code)) throw wrongCode(user.id)
    return user
  }

  function setPassword(user: User, password: string) {
    checkFields(checkPassword(password, 'newPassword', [user.email, user.name]))
    user.password = password
  }

  function sendLink(kind: 'verify-email' | 'reset-password', userId: string, to: string) {
    mails.push({ to, kind, token: tokens.issue(kind, { userId, email: to }) })
  }

  function makeCodes(): string[] {
    return Array.from({ length: 10 }, () => `fake${String(++codes).padStart(6, '0')}`)
  }
}

function alreadyOn(): AppError {
  return new AppError('conflict', 'Two-factor authentication is already on.')
}
