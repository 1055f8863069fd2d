import { and, eq } from 'drizzle-orm'
import { seal } from '../../../lib/crypto/seal.ts'
import { AppError, codeRequired, notFound } from '../../../lib/errors.ts'
import { parseMailbox, toEmailKey } from '../../../lib/text/email-address.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { WindowRule } from '../../../platform/limits/limits.ts'
import type { Account, AccountDefaults } from '../accounts/accounts.ts'
import type { SignInContext } from '../context/sign-in-context.ts'
import type { RequestOrigin } from '../sessions/sign-in.ts'
import type { ProvenIdentity, ProviderName } from './identity-providers.ts'

type SocialRequest = {
  provider: ProviderName
  idToken: string
  nonce?: string | undefined
  authorizationCode?: string | undefined
  redirectUri?: string | undefined
  code?: string | undefined
}

const MAX_NAME_LENGTH = 100
const REFUSED_PER_IP: WindowRule = { name: 'social-address', max: 'failures', seconds: 5 * 60 }

export function createSocialLogin(deps: SignInContext) {
  const { db, accounts, addresses, signIn, signUp, signInMethods, identities } = deps
  const { accountSecurity, twoFactor, verifyIdToken } = deps
  const { notices, limits, appleGrants, openId, sealKey, now, log } = deps
  const names: Record<ProviderName, string> = {
    google: 'Google',
    apple: 'Apple',
    oidc: openId.name,
  }
  const { identities: links, users } = db.tables
  return { login, unlink }

  async function login(
    { provider, idToken, nonce, authorizationCode, redirectUri, code }: SocialRequest,
    defaults: AccountDefaults,
    { ip, device, baseUrl }: RequestOrigin,
    bearerId: string | null,
  ) {
    const { release } = await limits.reserve([{ rule: REFUSED_PER_IP, key: ip }])
    const identity = await verifyIdToken(provider, idToken, nonce).catch(async (error) => {
      const isRefused = error instanceof AppError && error.code === 'unauthenticated'
      if (!isRefused) await db.write(release)
      throw error
    })
    const grant = await exchange(identity, authorizationCode, redirectUri)
    const useCode = bearerId && code ? await twoFactor.requireCode(bearerId, code) : null
    const result = await db.write(async (tx) => {
      await release(tx)
      let isProven = false
      const user = await findOrCreateAccount(tx, identity, defaults, ip, bearerId, mayLink)
      if (grant !== null) {
        const isSame = and(eq(links.provider, provider), eq(links.subject, identity.subject))
        await tx.update(links).set({ grant }).where(isSame)
      }
      if (!isProven) return signIn.finishSignIn(tx, user, device, bearerId)
      return { grant: await signIn.openSessionFor(tx, user, device, bearerId) }

      /** With two-factor on, linking a provider requires the account's own session and a code. */
      async function mayLink({ id, twoFactorSince }: Account): Promise<boolean> {
        if (twoFactorSince === null) return true
        if (id !== bearerId) return false
        if (!useCode) throw codeRequired()
        await useCode(tx)
        isProven = true
        return true
      }
    })
    return signIn.toSignInReply(result, baseUrl)
  }

  /** Unlinks a provider and secures the account. Throws `conflict` if it is the only way to sign in. */
  async function unlink(userId: string, sessionId: string, provider: ProviderName, code?: string) {
    const useCode = await twoFactor.requireCode(userId, code)
    await db.write(async (tx) => {
      await useCode(tx)
      if ((await identities.remove(tx, userId, provider)) === 0) throw notFound()
      await signInMethods.requireOne(tx, userId)
      await accountSecurity.secure(tx, userId, sessionId)
    })
  }

  /** The first that exists: the linked account, the one with the verified address, the guest's, or a new one. */
  async function findOrCreateAccount(
    tx: Tx,
    identity: ProvenIdentity,
    defaults: AccountDefaults,
    ip: string,
    bearerId: string | null,
    mayLink: (user: Account) => Promise<boolean>,
  ): Promise<Account> {
    const known =
      (await findLinked(tx, identity)) ?? (await linkByEmail(tx, identity, bearerId, mayLink))
    if (known) return known
    await signUp.requireOpen(tx, identity.emailVerified ? identity.email : null)
    const guest = await findGuest(tx, bearerId)
    const login = await findLoginFields(tx, identity)
    // The user did not enter this name here and cannot shorten it.
    const name = [...(defaults.name || identity.name)].slice(0, MAX_NAME_LENGTH).join('')
    const user = guest
      ? await accountSecurity.upgradeGuest(
          tx,
          guest,
          identity.provider,
          name ? { ...login, name } : login,
        )
      : await accounts.create(tx, identity.provider, { ...defaults, name }, login)
    await link(tx, identity, user.id)
    if (user.emailKey !== null && user.emailVerifiedAt === null)
      await addresses.sendVerification(tx, user, ip)
    return user
  }

  async function findLinked(
    tx: Tx,
    { provider, subject }: ProvenIdentity,
  ): Promise<Account | null> {
    const [row] = await tx
      .select({ user: users })
      .from(links)
      .innerJoin(users, eq(users.id, links.userId))
      .where(and(eq(links.provider, provider), eq(links.subject, subject)))
    return row?.user ?? null
  }

  /**
   * Links only a verified address. If the provider owns the address, its user takes over an account that never verified
   * it; otherwise the request must carry the account's token, because the address may have changed hands. The user is
   * signed in to the account even if it may not be linked.
   */
  async function linkByEmail(
    tx: Tx,
    identity: ProvenIdentity,
    bearerId: string | null,
    mayLink: (user: Account) => Promise<boolean>,
  ): Promise<Account | null> {
    const { provider, email, emailVerified, ownsAddress } = identity
    if (email === null || !emailVerified) return null
    const user = await accounts.findByEmail(tx, email)
    if (!user || (!ownsAddress && user.id !== bearerId)) return null
    const isClaimed = ownsAddress && user.emailVerifiedAt === null
    // A takeover removes the second factor, which a stranger may have set.
    if (!isClaimed && !(await mayLink(user))) return user
    const owned = isClaimed ? await accountSecurity.claim(tx, user, provider) : user
    await link(tx, identity, user.id)
    if (!isClaimed)
      await notices.enqueueNotice(tx, user, 'provider-linked', { detail: names[provider] })
    return owned
  }

  /**
   * The user can sign in with the address only if it is verified and free. If the provider does not own it, the user
   * must verify it again by e-mail, because it may have changed hands.
   */
  async function findLoginFields(
    tx: Tx,
    { email, emailVerified, ownsAddress }: ProvenIdentity,
  ): Promise<Partial<Account>> {
    if (email === null || parseMailbox(email) === null) return {}
    const isFree = emailVerified && !(await accounts.findByEmail(tx, email))
    if (!isFree) return { email }
    return { email, emailKey: toEmailKey(email), emailVerifiedAt: ownsAddress ? now() : null }
  }

  async function link(tx: Tx, { provider, subject, email }: ProvenIdentity, userId: string) {
    await tx
      .insert(links)
      .values({ provider, subject, userId, email, grant: null, createdAt: now() })
  }

  async function findGuest(tx: Tx, bearerId: string | null): Promise<Account | null> {
    const user = bearerId === null ? null : await accounts.find(tx, bearerId)
    return user?.loginType === 'guest' ? user : null
  }

  /** The sealed grant. A failed exchange does not stop the sign-in. */
  async function exchange(
    { provider, clientId }: ProvenIdentity,
    code: string | undefined,
    redirectUri: string | undefined,
  ) {
    if (provider !== 'apple' || code === undefined || appleGrants === null) return null
    try {
      const token = await appleGrants.exchange(code, clientId, redirectUri)
      return seal(sealKey, JSON.stringify({ clientId, token }))
    } catch (err) {
      log.warn({ err }, 'the authorization code of an Apple sign-in could not be exchanged')
      return null
    }
  }
}
