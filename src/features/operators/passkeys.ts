import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { and, asc, eq, lt } from 'drizzle-orm'
import { sha256 } from '../../lib/crypto/hash.ts'
import {
  fromBase64url,
  loadWebAuthn,
  passkeyRefused,
  verifyNewPasskey,
  verifyPasskey,
} from '../../lib/crypto/webauthn.ts'
import { AppError } from '../../lib/errors.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import type { Tx } from '../../platform/db/db.ts'
import { newToken, type OperatorRow } from './accounts.ts'
import type { OperatorsDb } from './schema.ts'

type Invitee = Pick<OperatorRow, 'id' | 'name'>
type Purpose = 'register' | 'sign-in'
type PasskeysDeps = { db: OperatorsDb; appName: string; now: () => Date }

export type Passkeys = ReturnType<typeof createPasskeys>

const CHALLENGE_LIFETIME_MS = 5 * MINUTE_MS
const MAX_PASSKEYS = 20

/** Passkeys (WebAuthn level 3). Each works on one host only and requires user verification. */
export function createPasskeys({ db, appName, now }: PasskeysDeps) {
  const { operatorPasskeys, operatorTokens } = db.tables
  return {
    startRegistration,
    register,
    startSignIn,
    verify,
    findOwner,
    list,
    remove,
    countPasskeys,
    sweep,
  }

  /**
   * The browser options for creating an operator's passkey on the host of `origin`. `storedId`: null for an operator who
   * does not exist yet.
   */
  async function startRegistration(
    { id, name }: Invitee,
    origin: string,
    storedId: string | null = id,
  ) {
    const { generateRegistrationOptions } = await loadWebAuthn()
    const existing = await findRows(id)
    return generateRegistrationOptions({
      rpName: appName,
      rpID: parseHost(origin),
      userName: name,
      userID: new TextEncoder().encode(id),
      challenge: await newChallenge('register', storedId),
      attestationType: 'none',
      excludeCredentials: existing.map((key) => ({ id: key.id })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    })
  }

  /** Returns the passkey's id and a function that stores the passkey in a transaction. */
  async function register(
    { id: operatorId }: Invitee,
    response: RegistrationResponseJSON,
    origin: string,
    name: string,
    storedId: string | null = operatorId,
  ) {
    const host = parseHost(origin)
    const passkey = await verifyNewPasskey(response, {
      rpId: host,
      origins: [origin],
      consumeChallenge: (challenge) => consumeChallenge(challenge, 'register', storedId),
    })
    const { id } = passkey
    const store = async (tx: Tx) => {
      if ((await countPasskeys(tx, operatorId)) >= MAX_PASSKEYS) {
        throw new AppError('conflict', 'You already have 20 passkeys. Remove one first.')
      }
      const [known] = await tx.select().from(operatorPasskeys).where(eq(operatorPasskeys.id, id))
      if (known) throw new AppError('conflict', 'This passkey is already registered.')
      await tx.insert(operatorPasskeys).values({
        ...passkey,
        operatorId,
        host,
        name: name || 'Passkey',
        createdAt: now(),
      })
    }
    return { credential: id, store }
  }

  /** The browser options for using a passkey: any passkey, or one of `operatorId` if set. */
  async function startSignIn(operatorId: string | null, origin: string) {
    const { generateAuthenticationOptions } = await loadWebAuthn()
    const allowed = operatorId === null ? [] : await findRows(operatorId)
    return generateAuthenticationOptions({
      rpID: parseHost(origin),
      challenge: await newChallenge('sign-in', operatorId),
      allowCredentials: allowed.map(({ id, transports }) => ({ id, transports })),
      userVerification: 'required',
    })
  }

  /** The passkey must belong to `operatorId` if set. Returns the operator and a function that records its use. */
  async function verify(
    response: AuthenticationResponseJSON,
    origin: string,
    operatorId: string | null,
  ) {
    const [row] = await db.read
      .select()
      .from(operatorPasskeys)
      .where(eq(operatorPasskeys.id, response.id))
    const isTheirs = operatorId === null || row?.operatorId === operatorId
    if (!row || !isTheirs || row.host !== parseHost(origin)) throw passkeyRefused()
    const counter = await verifyPasskey(response, row, {
      rpId: row.host,
      origins: [origin],
      consumeChallenge: (challenge) => consumeChallenge(challenge, 'sign-in', operatorId),
    })
    const complete = async (tx: Tx) => {
      const used = { counter, lastUsedAt: now() }
      const updated = await tx
        .update(operatorPasskeys)
        .set(used)
        .where(eq(operatorPasskeys.id, row.id))
        .returning({ id: operatorPasskeys.id })
      if (updated.length === 0) throw passkeyRefused()
    }
    return { operatorId: row.operatorId, credential: row.id, complete }
  }

  /** Null if the passkey is unknown. */
  async function findOwner(id: string): Promise<string | null> {
    const [row] = await db.read.select().from(operatorPasskeys).where(eq(operatorPasskeys.id, id))
    return row?.operatorId ?? null
  }

  async function list(operatorId: string) {
    return (await findRows(operatorId)).map(({ id, name, host, createdAt, lastUsedAt }) => ({
      id,
      name,
      host,
      createdAt: createdAt.toISOString(),
      lastUsedAt: lastUsedAt?.toISOString() ?? null,
    }))
  }

  /** In the caller's transaction. Throws `not_found` for another operator's passkey. */
  async function remove(tx: Tx, operatorId: string, id: string) {
    const removed = await tx
      .delete(operatorPasskeys)
      .where(and(eq(operatorPasskeys.id, id), eq(operatorPasskeys.operatorId, operatorId)))
      .returning({ id: operatorPasskeys.id })
    if (removed.length === 0)
      throw new AppError('not_found', 'This passkey has already been removed.')
  }

  async function countPasskeys(tx: Tx, operatorId: string): Promise<number> {
    return tx.$count(operatorPasskeys, eq(operatorPasskeys.operatorId, operatorId))
  }

  async function sweep() {
    await db.write((tx) => tx.delete(operatorTokens).where(lt(operatorTokens.expiresAt, now())))
  }

  function findRows(operatorId: string) {
    return db.read
      .select()
      .from(operatorPasskeys)
      .where(eq(operatorPasskeys.operatorId, operatorId))
      .orderBy(asc(operatorPasskeys.createdAt), asc(operatorPasskeys.id))
  }

  async function newChallenge(purpose: Purpose, operatorId: string | null) {
    const challenge = newToken()
    const expiresAt = new Date(now().getTime() + CHALLENGE_LIFETIME_MS)
    await db.write(async (tx) => {
      const hash = sha256(challenge)
      await tx.insert(operatorTokens).values({ hash, purpose, operatorId, expiresAt })
    })
    return fromBase64url(challenge)
  }

  /** Consumes a challenge. False unless it was issued for this purpose and operator. */
  async function consumeChallenge(challenge: string, purpose: Purpose, operatorId: string | null) {
    const [row] = await db.write((tx) =>
      tx
        .delete(operatorTokens)
        .where(and(eq(operatorTokens.hash, sha256(challenge)), eq(operatorTokens.purpose, purpose)))
        .returning(),
    )
    return row !== undefined && row.operatorId === operatorId && row.expiresAt > now()
  }
}

function parseHost(origin: string): string {
  return new URL(origin).hostname
}
