import type { RegistrationResponseJSON } from '@simplewebauthn/server'
import { and, asc, eq } from 'drizzle-orm'
import { passkeyRefused, verifyNewPasskey } from '../../../lib/crypto/webauthn.ts'
import { AppError, notFound } from '../../../lib/errors.ts'
import type { SignInContext } from '../context/sign-in-context.ts'
import type { Owner } from '../credentials/owner-proof.ts'
import type { UsersDb } from '../schema.ts'

type Row = UsersDb['tables']['passkeys']['$inferSelect']

const MAX_PASSKEYS = 20
/** Ed25519, ES256 and RS256, as COSE numbers (RFC 9053). */
const ALGORITHMS = [-8, -7, -257]
/** How long the device waits for the user. */
export const TIMEOUT_MS = 60_000

/** The passkeys of users (WebAuthn level 3). Each needs user verification, so it counts as two factors. */
export function createUserPasskeys(deps: SignInContext) {
  const { db, accounts, accountSecurity, signInMethods, signUp, oneTimeTokens } = deps
  const { proof, ownerProof, twoFactor, notices, relyingParty, appName, now } = deps
  const { passkeys } = db.tables
  return { startRegistration, add, list, rename, remove }

  /**
   * Needs the password or a recent sign-in, and a code if two-factor is on: a passkey would let a thief sign in
   * forever. Guests need neither, because they have nothing to lose.
   */
  async function startRegistration(
    { userId, sessionId }: Owner,
    password: string | undefined,
    code?: string,
  ) {
    const user = await accounts.find(db.read, userId)
    const recheckPassword =
      password === undefined ? null : await proof.verifyOwnPassword(userId, password)
    if (recheckPassword === null && user.loginType !== 'guest')
      await ownerProof.requireRecentSignIn(db.read, sessionId)
    const useCode = await twoFactor.requireCode(userId, code)
    const existing = await findRows(userId)
    const challenge = await db.write(async (tx) => {
      await recheckPassword?.(tx)
      await useCode(tx)
      return oneTimeTokens.issue(tx, 'passkey-registration', userId)
    })
    const names = { name: user.email || user.name || appName, displayName: user.name }
    return {
      challenge,
      rp: { id: relyingParty.rpId, name: appName },
      user: { id: toUserHandle(userId), ...names },
      pubKeyCredParams: ALGORITHMS.map((alg) => ({ alg, type: 'public-key' as const })),
      timeout: TIMEOUT_MS,
      attestation: 'none' as const,
      excludeCredentials: existing.map(({ id }) => ({ id, type: 'public-key' as const })),
      authenticatorSelection: {
        residentKey: 'required' as const,
        requireResidentKey: true,
        userVerification: 'required' as const,
      },
    }
  }

  /** A guest becomes an account that signs in with the passkey. */
  async function add(
    { userId, sessionId }: Owner,
    response: RegistrationResponseJSON,
    name: string,
  ) {
    let token = ''
    const passkey = await verifyNewPasskey(response, {
      ...relyingParty,
      consumeChallenge: async (challenge) => {
        const issued = await oneTimeTokens.find(db.read, 'passkey-registration', challenge)
        token = challenge
        return issued?.userId === userId
      },
    })
    const row = await db.write(async (tx) => {
      // The challenge is revoked when the account is secured, which may have happened in between.
      if (!(await oneTimeTokens.consume(tx, 'passkey-registration', token))) throw passkeyRefused()
      const user = await accounts.find(tx, userId)
      if ((await tx.$count(passkeys, eq(passkeys.userId, userId))) >= MAX_PASSKEYS)
        throw new AppError('conflict', 'You already have 20 passkeys. Remove one first.')
      const [known] = await tx.select().from(passkeys).where(eq(passkeys.id, passkey.id))
      if (known) throw new AppError('conflict', 'This passkey is already registered.')
      if (user.loginType === 'guest') {
        await signUp.requireOpen(tx, null)
        await accountSecurity.upgradeGuest(tx, user, 'passkey', {}, sessionId)
      }
      const { rpId } = relyingParty
      const added = { ...passkey, userId, rpId, name: name || 'Passkey', createdAt: now() }
      const [row] = await tx.insert(passkeys).values(added).returning()
      await notices.enqueueNotice(tx, user, 'passkey-added', { detail: added.name })
      return row as Row
    })
    return toPasskey(row)
  }

  async function list(userId: string) {
    return (await findRows(userId)).map(toPasskey)
  }

  async function rename(userId: string, id: string, name: string) {
    const [row] = await db.write((tx) =>
      tx.update(passkeys).set({ name }).where(isTheirs(userId, id)).returning(),
    )
    if (!row) throw notFound()
    return toPasskey(row)
  }

  /** Secures the account. Throws `conflict` if the passkey is the only way to sign in. */
  async function remove({ userId, sessionId }: Owner, id: string, code?: string) {
    const useCode = await twoFactor.requireCode(userId, code)
    await db.write(async (tx) => {
      await useCode(tx)
      const removed = await tx.delete(passkeys).where(isTheirs(userId, id)).returning()
      if (removed.length === 0) throw notFound()
      await signInMethods.requireOne(tx, userId)
      await accountSecurity.secure(tx, userId, sessionId)
    })
  }

  function isTheirs(userId: string, id: string) {
    return and(eq(passkeys.id, id), eq(passkeys.userId, userId))
  }

  function findRows(userId: string) {
    return db.read
      .select()
      .from(passkeys)
      .where(eq(passkeys.userId, userId))
      .orderBy(asc(passkeys.createdAt), asc(passkeys.id))
  }
}

/** The user's id as devices store it with a passkey, base64url. */
export function toUserHandle(userId: string): string {
  return Buffer.from(userId).toString('base64url')
}

function toPasskey({ id, name, createdAt, lastUsedAt }: Row) {
  return {
    _id: id,
    name,
    createdAt: createdAt.toISOString(),
    lastUsedAt: lastUsedAt?.toISOString() ?? null,
  }
}
