import type { NewAccount, Session } from '../../models.ts'
import type { SignInResult } from '../../users.ts'
import { codeRequired, failure, notFound, notSignedIn, wrongCode } from '../failure.ts'
import type { HandlersFor } from '../operations.ts'
import type { FakeRequest } from '../requests.ts'
import type { State, User } from '../state.ts'
import { asLocale, asTimezone, checkFields, emailFault, passwordFault } from '../validation.ts'
import type { MergeGuest } from './guests.ts'
import type { OneTimeTokens } from './one-time-tokens.ts'
import type { Sessions } from './sessions.ts'

/** The identity in an id token of Google or Apple. */
export type FakeIdentity = {
  provider: 'google' | 'apple' | 'oidc'
  /** The id of the user at the provider; by default, derived from the address. */
  subject?: string
  email?: string
  /** Whether the provider has verified the address; true by default. */
  emailVerified?: boolean
  name?: string
}

/** The two-factor code that the fake server accepts, any number of times. */
export const TWO_FACTOR_CODE = '123456'

type SignInDeps = {
  state: State
  sessions: Sessions
  tokens: OneTimeTokens
  mergeGuest: MergeGuest
  secure: (userId: string, keptSession: string | null) => void
  removeUntrusted: (user: User) => void
}

type Operation =
  | 'register'
  | 'login'
  | 'passTwoFactor'
  | 'signInSocially'
  | 'unlinkProvider'
  | 'requestEmailCode'
  | 'signInWithEmailCode'
  | 'startAsGuest'
  | 'refresh'
  | 'logout'

/** Registering, signing in and signing out. */
export function createSignIn(deps: SignInDeps) {
  const { state, sessions, tokens, mergeGuest, secure, removeUntrusted } = deps
  const { users, addUser, find, findByEmail, update, mails, clock } = state
  const identities = new Map<string, FakeIdentity>()
  const handlers: HandlersFor<Operation> = {
    register,
    login,
    passTwoFactor,
    signInSocially,
    unlinkProvider,
    requestEmailCode,
    signInWithEmailCode,
    startAsGuest: (_input, request) =>
      sessions.open(addUser({ loginType: 'guest', ...readLocale(request) }), request),
    refresh: (input) => sessions.refresh(input),
    logout(_input, { sessionId }) {
      sessions.end(sessionId)
      return { message: 'Signed out.' }
    },
  }
  return { handlers, issueIdToken, checkTwoFactor, useCode }

  /** An id token with which `signInSocially` signs this identity in. */
  function issueIdToken(identity: FakeIdentity): string {
    const idToken = `fake-id-token-${identities.size + 1}`
    identities.set(idToken, identity)
    return idToken
  }

  function register(account: NewAccount, request: FakeRequest): Session {
    const { email, password, name = '' } = account
    checkFields(emailFault(email), passwordFault(password, 'password', [email, name]))
    state.requireFreeEmail(email)
    const login = { loginType: 'email', email, ownsEmail: true, password, ...(name && { name }) }
    const user = upgradedGuest(request) ?? addUser({ ...login, ...readLocale(request) })
    update(user, login)
    sendVerification(user)
    return sessions.open(user, request)
  }

  function login(
    { email, password }: { email: string; password: string },
    request: FakeRequest,
  ): SignInResult {
    const user = findByEmail(email)
    if (!user || user.password === null || user.password !== password) {
      throw failure('invalid_credentials', 'The e-mail address or the password is wrong.')
    }
    return finish(user, request)
  }

  /** A session, or a challenge if two-factor is on. The challenge remembers the guest whose token was sent. */
  function finish(user: User, request: FakeRequest): SignInResult {
    const { userId: bearerId } = request
    if (user.twoFactorSince !== null) {
      const challengeToken = tokens.issue('two-factor', { userId: user.id, bearerId })
      return { challengeToken, methods: ['totp', 'recovery_code'], expiresIn: 300 }
    }
    mergeGuest(bearerId, user)
    return sessions.open(user, request)
  }

  function passTwoFactor(
    { challengeToken, code }: { challengeToken: string; code: string },
    request: FakeRequest,
  ): Session {
    const challenge = tokens.find('two-factor', challengeToken)
    if (!challenge) throw notSignedIn()
    const user = find(challenge.userId)
    if (!checkTwoFactor(user, code)) {
      tokens.countFailure(challengeToken)
      throw wrongCode()
    }
    tokens.consume('two-factor', challengeToken)
    mergeGuest(request.userId || challenge.bearerId, user)
    return sessions.open(user, request)
  }

  /** Consumes a recovery code, or accepts the fixed code. */
  function checkTwoFactor(user: User, code: string): boolean {
    if (code === TWO_FACTOR_CODE) return user.hasSecret || user.twoFactorSince !== null
    const plain = code.toLowerCase().replace(/[\s-]/g, '')
    const isKnown = user.recoveryCodes.includes(plain)
    user.recoveryCodes = user.recoveryCodes.filter((known) => known !== plain)
    return isKnown
  }

  /** Consumes the code that a change of credentials needs if two-factor is on. */
  function useCode(user: User, code: string | undefined) {
    if (user.twoFactorSince === null) return
    if (!code) throw codeRequired()
    if (!checkTwoFactor(user, code)) throw wrongCode()
  }

  function signInSocially(
    {
      provider,
      idToken,
      name = '',
      code,
    }: { provider: string; idToken: string; name?: string; code?: string },
    request: FakeRequest,
  ): SignInResult {
    const identity = identities.get(idToken)
    if (identity?.provider !== provider) {
      throw failure(
        'unauthenticated',
        'The id token was not accepted: sign in with the provider again.',
      )
    }
    const own = users.get(request.userId)
    const before = own?.identities.length
    const user = userOf(identity, name, request, code)
    const isProven = user === own && own.identities.length !== before
    return isProven ? sessions.open(user, request) : finish(user, request)
  }

  /** The linked account, else one with the same verified address, else the guest's, else a new one. */
  function userOf(
    identity: FakeIdentity,
    name: string,
    request: FakeRequest,
    code: string | undefined,
  ): User {
    const { provider, email = null, emailVerified = true } = identity
    const subject = identity.subject ?? email ?? provider
    const link = { provider, subject, email, createdAt: clock.now }
    const linked = [...users.values()].find((user) =>
      user.identities.some((one) => one.provider === provider && one.subject === subject),
    )
    if (linked) return linked
    const ownsAddress = provider === 'apple' || /@gmail\.com$/i.test(email ?? '')
    const holder = email !== null && emailVerified ? findByEmail(email) : undefined
    if (holder?.emailVerifiedAt && (ownsAddress || holder.id === request.userId)) {
      const isOwn = holder.id === request.userId
      if (holder.twoFactorSince !== null && !isOwn) return holder
      useCode(holder, code)
      holder.identities.push(link)
      mails.push({ to: holder.email ?? '', kind: 'provider-linked' })
      return holder
    }
    const isFree = email !== null && emailVerified && !holder
    const login = {
      loginType: provider,
      email,
      ownsEmail: isFree,
      emailVerifiedAt: isFree && ownsAddress ? clock.now : null,
      ...((name || identity.name) && { name: name || (identity.name ?? '') }),
    }
    const user = upgradedGuest(request) ?? addUser({ ...login, ...readLocale(request) })
    update(user, login)
    user.identities.push(link)
    if (isFree && !ownsAddress) sendVerification(user)
    return user
  }

  function unlinkProvider(_input: object, { userId, sessionId, query }: FakeRequest) {
    const user = find(userId)
    const rest = user.identities.filter(({ provider }) => provider !== query['provider'])
    if (rest.length === user.identities.length) throw notFound()
    const signsInByEmail = user.ownsEmail && (user.password ?? user.emailVerifiedAt) !== null
    const left = [...(signsInByEmail ? ['email'] : []), ...rest.map(({ provider }) => provider)]
    const [first] = left
    if (first === undefined) {
      throw failure('conflict', 'This is the only way to sign in: add another one first.')
    }
    useCode(user, query['code'])
    user.identities = rest
    if (!left.includes(user.loginType)) update(user, { loginType: first })
    secure(userId, sessionId)
    return { message: 'The provider is unlinked. Other devices are signed out.' }
  }

  function requestEmailCode({ email }: { email: string }) {
    checkFields(emailFault(email))
    const code = String(100_000 + ((mails.length * 7_919 + 23_456) % 900_000))
    const requestToken = tokens.issue('email-code', { email, code })
    mails.push({ to: email, kind: 'email-code', code })
    return { requestToken, expiresIn: 600 }
  }

  function signInWithEmailCode(
    { requestToken, code, name }: { requestToken: string; code: string; name?: string },
    request: FakeRequest,
  ): SignInResult {
    const pending = tokens.find('email-code', requestToken)
    if (pending?.code !== code.replace(/[\s-]/g, '')) {
      tokens.countFailure(requestToken)
      throw failure(
        'invalid_credentials',
        'The code is wrong or has expired. Check it, or request a new one.',
      )
    }
    tokens.consume('email-code', requestToken)
    const email = pending.email ?? ''
    const known = findByEmail(email)
    const login = { loginType: 'email', email, ownsEmail: true, ...(name && { name }) }
    const user = known ?? upgradedGuest(request) ?? addUser({ ...login, ...readLocale(request) })
    if (known?.emailVerifiedAt === null) {
      removeUntrusted(known)
      Object.assign(known, { password: null, loginType: 'email' })
      secure(known.id, null)
    }
    update(user, { ...(known ? {} : login), emailVerifiedAt: user.emailVerifiedAt ?? clock.now })
    return finish(user, request)
  }

  /** The guest who becomes the account, signed out everywhere, because a guest has proven nothing. */
  function upgradedGuest({ userId }: FakeRequest): User | undefined {
    const user = users.get(userId)
    if (user?.loginType !== 'guest') return undefined
    secure(userId, null)
    return user
  }

  function sendVerification({ id: userId, email }: User) {
    if (email === null) return
    const token = tokens.issue('verify-email', { userId, email })
    mails.push({ to: email, kind: 'verify-email', token })
  }
}

/** The language and time zone that the device reports. */
export function readLocale({ headers }: Pick<FakeRequest, 'headers'>) {
  const [tag = ''] = (headers['accept-language'] ?? '').split(/[,;]/)
  return {
    locale: asLocale(tag.trim()) ?? 'en',
    timezone: asTimezone(headers['timezone'] ?? 'utc') ?? 'utc',
  }
}
