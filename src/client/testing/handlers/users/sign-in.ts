import { wrongCode } from '../../../../lib/errors.ts'
import { asLocale, asTimezone } from '../../../../lib/text/locale.ts'
import type { SocialLogin } from '../../../models.ts'
import type { SignInResult } from '../../../users.ts'
import { invalidCredentials, notSignedIn, unauthenticated } from '../../failure.ts'
import type { Handlers } from '../../handler-types.ts'
import type { FakeRequest } from '../../requests.ts'
import type { State, User } from '../../state.ts'
import type { FakeIdentity } from '../../types.ts'
import { checkEmail, checkFields, checkPassword } from '../../validation.ts'
import type { AccountSecurity } from './account-security.ts'
import type { OneTimeTokens } from './one-time-tokens.ts'
import { passSecondStep, requireSecondStep } from './second-step.ts'
import type { Sessions } from './sessions.ts'

/** What the handlers of accounts and sign-ins share. */
export type AccountDeps = {
  state: State
  sessions: Sessions
  tokens: OneTimeTokens
  security: AccountSecurity
}

export function createSignIn({ state, sessions, tokens, security }: AccountDeps) {
  const { users, addUser, find, findByEmail, update, mails, clock } = state
  const { mergeGuest, secure, removeUntrusted } = security
  const issued = new Map<string, FakeIdentity>()
  const handlers = {
    register({ email, password, name = '' }, request) {
      checkFields(checkEmail(email), checkPassword(password, 'password', [email, name]))
      state.requireFreeEmail(email)
      const login = { loginType: 'email', email, ownsEmail: true, password, ...(name && { name }) }
      const user = upgradeGuestOrAdd(login, request)
      sendVerification(user)
      return sessions.open(user, request)
    },
    login({ email, password }, request) {
      const user = findByEmail(email)
      if (!user || user.password === null || user.password !== password)
        throw invalidCredentials('The e-mail address or the password is wrong.')
      return finish(user, request)
    },
    passTwoFactor({ challengeToken, code }, request) {
      const challenge = tokens.find('two-factor', challengeToken)
      if (!challenge) throw notSignedIn()
      const user = find(challenge.userId)
      if (!passSecondStep(user, code)) {
        tokens.countFailure(challengeToken)
        throw wrongCode(user.id)
      }
      tokens.consume('two-factor', challengeToken)
      mergeGuest(request.userId || challenge.bearerId, user)
      return sessions.open(user, request)
    },
    requestEmailCode({ email }) {
      checkFields(checkEmail(email))
      const code = String(100_000 + ((mails.length * 7_919 + 23_456) % 900_000))
      const requestToken = tokens.issue('email-code', { email, code })
      mails.push({ to: email, kind: 'email-code', code })
      return { requestToken, expiresIn: 600 }
    },
    signInWithEmailCode({ requestToken, code, name }, request) {
      const pending = tokens.find('email-code', requestToken)
      if (pending?.code !== code.replace(/[\s-]/g, '')) {
        tokens.countFailure(requestToken)
        throw invalidCredentials(
          'The code is wrong or has expired. Check it, or request a new one.',
        )
      }
      tokens.consume('email-code', requestToken)
      const email = pending.email ?? ''
      const known = findByEmail(email)
      const login = { loginType: 'email', email, ownsEmail: true, ...(name && { name }) }
      const user = known ?? upgradeGuestOrAdd(login, request)
      if (known?.emailVerifiedAt === null) {
        removeUntrusted(known)
        Object.assign(known, { password: null, loginType: 'email' })
        secure(known.id, null)
      }
      update(user, { emailVerifiedAt: user.emailVerifiedAt ?? clock.now })
      return finish(user, request)
    },
    signInSocially(login, request) {
      const identity = issued.get(login.idToken)
      if (identity?.provider !== login.provider) {
        throw unauthenticated('The id token was not accepted: sign in with the provider again.')
      }
      const own = users.get(request.userId)
      const before = own?.identities.length
      const user = findOrAdd(identity, login, request)
      const isProven = user === own && own.identities.length !== before
      return isProven ? sessions.open(user, request) : finish(user, request)
    },
    startAsGuest: (_input, request) =>
      sessions.open(addUser({ loginType: 'guest', ...readLocale(request) }), request),
    refresh: (input) => sessions.refresh(input),
    logout(_input, { sessionId }) {
      sessions.end(sessionId)
      return { message: 'Signed out.' }
    },
  } satisfies Partial<Handlers>
  return { handlers, issueIdToken }

  /** Returns an id token with which `signInSocially` signs in this identity. */
  function issueIdToken(identity: FakeIdentity): string {
    const idToken = `fake-id-token-${issued.size + 1}`
    issued.set(idToken, identity)
    return idToken
  }

  /** Returns a session, or a challenge if two-factor is on. The challenge remembers the guest whose token was sent. */
  function finish(user: User, request: FakeRequest): SignInResult {
    const { userId: bearerId } = request
    if (user.twoFactorSince !== null) {
      const challengeToken = tokens.issue('two-factor', { userId: user.id, bearerId })
      return { challengeToken, methods: ['totp', 'recovery_code'], expiresIn: 300 }
    }
    mergeGuest(bearerId, user)
    return sessions.open(user, request)
  }

  /** The first that exists: the linked account, one with the same verified address, the guest's, or a new one. */
  function findOrAdd(
    identity: FakeIdentity,
    { name = identity.name, code }: SocialLogin,
    request: FakeRequest,
  ): User {
    const { provider, email = null, emailVerified = true } = identity
    const link = `${provider} ${identity.subject ?? email ?? provider}`
    const linked = [...users.values()].find(({ identities }) => identities.includes(link))
    if (linked) return linked
    const isProvidersOwn = provider === 'apple' || /@gmail\.com$/i.test(email ?? '')
    const holder = email !== null && emailVerified ? findByEmail(email) : undefined
    const isOwn = holder?.id === request.userId
    if (holder?.emailVerifiedAt && (isProvidersOwn || isOwn)) {
      if (holder.twoFactorSince !== null && !isOwn) return holder
      requireSecondStep(holder, code)
      holder.identities.push(link)
      mails.push({ to: holder.email ?? '', kind: 'provider-linked' })
      return holder
    }
    const isFree = email !== null && emailVerified && !holder
    const emailVerifiedAt = isFree && isProvidersOwn ? clock.now : null
    const login = { loginType: provider, email, ownsEmail: isFree, emailVerifiedAt }
    const user = upgradeGuestOrAdd({ ...login, ...(name && { name }) }, request)
    user.identities.push(link)
    if (isFree && !isProvidersOwn) sendVerification(user)
    return user
  }

  /** Turns the guest into the account, and ends the guest's sessions: a guest has proven nothing. Else adds a user. */
  function upgradeGuestOrAdd(
    login: Partial<User> & Pick<User, 'loginType'>,
    request: FakeRequest,
  ): User {
    const guest = users.get(request.userId)
    if (guest?.loginType !== 'guest') return addUser({ ...login, ...readLocale(request) })
    secure(guest.id, null)
    update(guest, login)
    return guest
  }

  function sendVerification({ id: userId, email }: User) {
    if (email === null) return
    const token = tokens.issue('verify-email', { userId, email })
    mails.push({ to: email, kind: 'verify-email', token })
  }
}

export function readLocale({ headers }: Pick<FakeRequest, 'headers'>) {
  const [tag = ''] = (headers['accept-language'] ?? '').split(/[,;]/)
  return {
    locale: asLocale(tag.trim()) ?? 'en',
    timezone: asTimezone(headers['timezone'] ?? 'utc') ?? 'utc',
  }
}
