import { and, eq, isNotNull } from 'drizzle-orm'
import type { Db } from '../../db/open.ts'
import type { Tx } from '../../db/write.ts'
import type { Log } from '../../lib/log.ts'
import { seal, unseal } from '../../lib/seal.ts'
import { type Account, type Accounts, emailKeyOf, type Hints } from './accounts.ts'
import type { AppleGrants } from './apple-grants.ts'
import type { Guests } from './guests.ts'
import type { ProvenIdentity, VerifyIdToken } from './identity-providers.ts'
import type { Outbox } from './outbox.ts'
import type { Client } from './password-login.ts'
import type { SignIn } from './sign-in.ts'

export type SocialLoginDeps = {
  db: Db
  accounts: Accounts
  guests: Guests
  signIn: SignIn
  outbox: Outbox
  verifyIdToken: VerifyIdToken
  /** Null without the keys that Apple asks for. */
  appleGrants: AppleGrants | null
  sealKey: Uint8Array
  now: () => Date
  log: Log
}

export type SocialRequest = {
  provider: 'google' | 'apple'
  idToken: string
  nonce?: string | undefined
  authorizationCode?: string | undefined
}

export type SocialLogin = ReturnType<typeof createSocialLogin>

/** Signing in with what Google or Apple say of a person. */
export function createSocialLogin(deps: SocialLoginDeps) {
  const { db, accounts, guests, signIn, outbox, verifyIdToken, appleGrants, sealKey, now, log } =
    deps
  const { identities, users } = db.tables
  return { login, revokeGrants, list }

  async function login(
    { provider, idToken, nonce, authorizationCode }: SocialRequest,
    hints: Hints,
    { device }: Client,
    guestId: string | null,
  ) {
    const identity = await verifyIdToken(provider, idToken, nonce)
    const grant = await exchange(identity, authorizationCode)
    const admission = await db.write(async (tx) => {
      const user = await accountOf(tx, identity, hints, guestId)
      if (grant !== null) {
        const isSame = and(
          eq(identities.provider, provider),
          eq(identities.subject, identity.subject),
        )
        await tx.update(identities).set({ grant }).where(isSame)
      }
      return signIn.admit(tx, user, device)
    })
    return signIn.answer(admission)
  }

  /** Leaves word for Apple that a user's grants end, as part of the change that removes the user. */
  async function revokeGrants(tx: Tx, userId: string) {
    const rows = await tx
      .select()
      .from(identities)
      .where(and(eq(identities.userId, userId), isNotNull(identities.grant)))
    for (const { grant } of rows) {
      const { clientId, token } = JSON.parse(unseal(sealKey, grant ?? ''))
      await outbox.add(tx, { kind: 'apple-revocation', clientId, token })
    }
  }

  /** The identities of a user, for the export. */
  async function list(userId: string) {
    const rows = await db.read.select().from(identities).where(eq(identities.userId, userId))
    return rows.map(({ provider, subject, email, createdAt }) => ({
      provider,
      subject,
      email,
      createdAt: createdAt.toISOString(),
    }))
  }

  /** The account of an identity: its own, one with the same proven address, the guest's, or a new one. */
  async function accountOf(
    tx: Tx,
    identity: ProvenIdentity,
    hints: Hints,
    guestId: string | null,
  ): Promise<Account> {
    const guest = await guestOf(tx, guestId)
    const known = (await findLinked(tx, identity)) ?? (await linkByEmail(tx, identity))
    if (known) {
      if (guest) await guests.mergeInto(tx, guest, known)
      return known
    }
    const login = await loginOf(tx, identity)
    const name = hints.name || identity.name
    const user = guest
      ? await accounts.upgrade(tx, guest, identity.provider, name ? { ...login, name } : login)
      : await accounts.create(tx, identity.provider, { ...hints, name }, login)
    await link(tx, identity, user.id)
    return user
  }

  async function findLinked(
    tx: Tx,
    { provider, subject }: ProvenIdentity,
  ): Promise<Account | null> {
    const [row] = await tx
      .select({ user: users })
      .from(identities)
      .innerJoin(users, eq(users.id, identities.userId))
      .where(and(eq(identities.provider, provider), eq(identities.subject, subject)))
    return row?.user ?? null
  }

  /** Only where both sides have proven the address: else whoever typed it first would own the account. */
  async function linkByEmail(tx: Tx, identity: ProvenIdentity): Promise<Account | null> {
    if (identity.email === null || !identity.emailVerified) return null
    const user = await accounts.findByEmail(tx, identity.email)
    if (!user || user.emailVerifiedAt === null) return null
    await link(tx, identity, user.id)
    return user
  }

  /** A new account shows the address; it signs in with it only when nobody else claims it. */
  async function loginOf(
    tx: Tx,
    { email, emailVerified }: ProvenIdentity,
  ): Promise<Partial<Account>> {
    if (email === null) return {}
    const isFree = emailVerified && !(await accounts.findByEmail(tx, email))
    return isFree ? { email, emailKey: emailKeyOf(email), emailVerifiedAt: now() } : { email }
  }

  async function link(tx: Tx, { provider, subject, email }: ProvenIdentity, userId: string) {
    await tx
      .insert(identities)
      .values({ provider, subject, userId, email, grant: null, createdAt: now() })
  }

  async function guestOf(tx: Tx, guestId: string | null): Promise<Account | null> {
    const user = guestId === null ? null : await accounts.find(tx, guestId)
    return user?.loginType === 'guest' ? user : null
  }

  /** A grant that cannot be had hinders nobody from signing in. */
  async function exchange({ provider, clientId }: ProvenIdentity, code: string | undefined) {
    if (provider !== 'apple' || code === undefined || appleGrants === null) return null
    try {
      const token = await appleGrants.exchange(code, clientId)
      return seal(sealKey, JSON.stringify({ clientId, token }))
    } catch (err) {
      log.warn({ err }, 'the grant of an Apple sign-in was not exchanged')
      return null
    }
  }
}
