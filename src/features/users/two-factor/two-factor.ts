import { and, eq, isNull, lt, or } from 'drizzle-orm'
import { renderSVG } from 'uqr'
import { hmac } from '../../../lib/crypto/hash.ts'
import { seal, unseal } from '../../../lib/crypto/seal.ts'
import {
  acceptedStep,
  formatOtpauthUrl,
  isCodeOfStep,
  newTotpSecret,
} from '../../../lib/crypto/totp.ts'
import { AppError, codeRequired, wrongCode } from '../../../lib/errors.ts'
import {
  derivedRecoveryCodes,
  newRecoveryCodes,
  plainCode,
} from '../../../lib/passwords/recovery-codes.ts'
import { MINUTE_MS } from '../../../lib/time/durations.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { Limit, WindowRule } from '../../../platform/limits/limits.ts'
import type { AccountSecurity } from '../accounts/account-security.ts'
import type { Account } from '../accounts/accounts.ts'
import type { UsersContext } from '../context/context.ts'
import type { Owner, OwnerProof } from '../credentials/owner-proof.ts'

export type TwoFactor = ReturnType<typeof createTwoFactor>

/** How long a confirmation can be repeated after its response was lost. */
const CONFIRM_RETRY_MS = 5 * MINUTE_MS
const CODES_PER_ACCOUNT: WindowRule = { name: 'two-factor', max: 10, seconds: 15 * 60 }
/** Keeps the chance of guessing a code near 2 % in a year for a thief who knows the password. */
const CODES_PER_DAY: WindowRule = { name: 'two-factor-day', max: 20, seconds: 24 * 60 * 60 }

/** TOTP (RFC 6238: SHA-1, 6 digits, 30 s) and recovery codes. */
export function createTwoFactor(
  deps: UsersContext & { ownerProof: OwnerProof; accountSecurity: AccountSecurity },
) {
  const { db, accounts, sealKey, recoveryKey, limits, appName, now } = deps
  const { ownerProof, accountSecurity } = deps
  const { users, recoveryCodes } = db.tables
  return {
    setUp,
    confirm,
    renewRecoveryCodes,
    disable,
    reset,
    reserve,
    check,
    prove,
    requireCode,
    listLimits,
  }

  /** Creates a secret. Two-factor turns on once a code confirms it. */
  async function setUp(owner: Owner, password: string | undefined) {
    const { userId } = owner
    const recheckPassword = await ownerProof.prove(owner, password)
    const secret = newTotpSecret()
    const email = await db.write(async (tx) => {
      await recheckPassword(tx)
      const user = await accounts.find(tx, userId)
      if (user.twoFactorSince !== null) throw alreadyOn()
      const changes = { twoFactorSecret: seal(sealKey, secret), twoFactorStep: null }
      await tx.update(users).set(changes).where(eq(users.id, userId))
      return user.email ?? userId
    })
    // Authenticator apps show the app's name.
    const otpauthUrl = formatOtpauthUrl(secret, appName, email)
    return { secret, otpauthUrl, qrSvg: renderSVG(otpauthUrl) }
  }

  /** Ends the other sessions. Recovery codes are derived, so a client that missed the response gets the same ones. */
  async function confirm(userId: string, sessionId: string, typed: string): Promise<string[]> {
    const code = plainCode(typed)
    const reservation = await reserve(userId, typed)
    return db.write(async (tx) => {
      const user = await accounts.find(tx, userId)
      if (user.twoFactorSince !== null) {
        const codes = await repeatConfirmation(tx, user, code)
        await reservation.release(tx)
        return codes
      }
      if (!(await acceptTotp(tx, user, code))) throw wrongCode(userId)
      await reservation.release(tx)
      await tx.update(users).set({ twoFactorSince: now() }).where(eq(users.id, userId))
      const codes = deriveConfirmedCodes(await accounts.find(tx, userId))
      await replaceCodes(tx, userId, codes)
      await accountSecurity.secure(tx, userId, sessionId)
      return codes
    })
  }

  /** The recovery codes of a repeated confirmation. Throws `conflict` for every other code. */
  async function repeatConfirmation(tx: Tx, user: Account, code: string): Promise<string[]> {
    const { id, twoFactorSince, twoFactorSecret, twoFactorStep } = user
    const age = now().getTime() - (twoFactorSince?.getTime() ?? 0)
    if (age > CONFIRM_RETRY_MS || twoFactorSecret === null || twoFactorStep === null)
      throw alreadyOn()
    if (!isCodeOfStep(unseal(sealKey, twoFactorSecret), code, twoFactorStep)) throw alreadyOn()
    const codes = deriveConfirmedCodes(user)
    const known = new Set(codes.map((code) => hashCode(id, code)))
    const kept = await tx.select().from(recoveryCodes).where(eq(recoveryCodes.userId, id))
    // The codes have been renewed since the confirmation.
    if (!kept.every(({ hash }) => known.has(hash))) throw alreadyOn()
    return codes
  }

  function deriveConfirmedCodes({ id, twoFactorSecret, twoFactorStep }: Account): string[] {
    return derivedRecoveryCodes(recoveryKey, `${id}.${twoFactorSecret}.${twoFactorStep}`)
  }

  async function renewRecoveryCodes(owner: Owner, password: string | undefined, code: string) {
    const { userId } = owner
    const recheckPassword = await ownerProof.prove(owner, password)
    const reservation = await reserve(userId, code)
    const codes = newRecoveryCodes()
    await db.write(async (tx) => {
      await recheckPassword(tx)
      const { twoFactorSince } = await accounts.find(tx, userId)
      if (twoFactorSince === null) throw notOn()
      if (!(await check(tx, userId, code))) throw wrongCode(userId)
      await reservation.release(tx)
      await replaceCodes(tx, userId, codes)
    })
    return codes
  }

  async function replaceCodes(tx: Tx, userId: string, codes: string[]) {
    await tx.delete(recoveryCodes).where(eq(recoveryCodes.userId, userId))
    const rows = codes.map((code) => ({ userId, hash: hashCode(userId, code) }))
    await tx.insert(recoveryCodes).values(rows)
  }

  async function disable(owner: Owner, password: string | undefined, code: string) {
    const { userId, sessionId } = owner
    const recheckPassword = await ownerProof.prove(owner, password)
    const reservation = await reserve(userId, code)
    await db.write(async (tx) => {
      await recheckPassword(tx)
      if (!(await check(tx, userId, code))) throw wrongCode(userId)
      await reservation.release(tx)
      await turnOff(tx, userId, sessionId)
    })
  }

  /** For an operator; ends all sessions. Throws `conflict` if two-factor is off. */
  async function reset(userId: string) {
    await db.write(async (tx) => {
      const { twoFactorSince } = await accounts.find(tx, userId)
      if (twoFactorSince === null) throw notOn()
      await turnOff(tx, userId, null)
    })
  }

  async function turnOff(tx: Tx, userId: string, keptSession: string | null) {
    const off = { twoFactorSecret: null, twoFactorSince: null, twoFactorStep: null }
    await tx.update(users).set(off).where(eq(users.id, userId))
    await tx.delete(recoveryCodes).where(eq(recoveryCodes.userId, userId))
    await accountSecurity.secure(tx, userId, keptSession)
  }

  function listLimits(userId: string): Limit[] {
    return [CODES_PER_ACCOUNT, CODES_PER_DAY].map((rule) => ({ rule, key: userId }))
  }

  /** Throws if the code is wrong. */
  async function prove(userId: string, code: string) {
    const reservation = await reserve(userId, code)
    await db.write(async (tx) => {
      if (!(await check(tx, userId, code))) throw wrongCode(userId)
      await reservation.release(tx)
    })
  }

  /**
   * Throws `two_factor_required` if a needed code is missing. Returns a check that consumes the code in the transaction
   * of the change.
   */
  async function requireCode(userId: string, code: string | undefined) {
    const { twoFactorSince } = await accounts.find(db.read, userId)
    if (twoFactorSince !== null && !code) throw codeRequired()
    const reservation = twoFactorSince !== null && code ? await reserve(userId, code) : null
    return async (tx: Tx) => {
      const user = await accounts.find(tx, userId)
      if (user.twoFactorSince === null) return
      if (!reservation || !code) throw codeRequired()
      if (!(await check(tx, userId, code))) throw wrongCode(userId)
      await reservation.release(tx)
    }
  }

  /**
   * Allows 10 codes in 15 minutes and 20 a day. Recovery codes (50 bits) need no limit, and let the owner in after a
   * thief has used it up.
   */
  function reserve(userId: string, typed: string) {
    return limits.reserve(isTotp(plainCode(typed)) ? listLimits(userId) : [])
  }

  /** Checks a code in the caller's transaction. Returns false if it is wrong. */
  async function check(tx: Tx, userId: string, typed: string): Promise<boolean> {
    const code = plainCode(typed)
    const user = await accounts.find(tx, userId)
    if (user.twoFactorSince === null) return false
    if (isTotp(code)) return acceptTotp(tx, user, code)
    const hash = hashCode(userId, code)
    const used = await tx
      .delete(recoveryCodes)
      .where(and(eq(recoveryCodes.userId, userId), eq(recoveryCodes.hash, hash)))
      .returning({ hash: recoveryCodes.hash })
    return used.length === 1
  }

  /** Accepts the current TOTP step, the one before or the one after, if it is later than the last accepted one. */
  async function acceptTotp(tx: Tx, user: Account, code: string): Promise<boolean> {
    if (user.twoFactorSecret === null) return false
    const secret = unseal(sealKey, user.twoFactorSecret)
    const step = acceptedStep(secret, code, now(), user.twoFactorStep)
    if (step === null) return false
    const accepted = await tx
      .update(users)
      .set({ twoFactorStep: step })
      .where(
        and(eq(users.id, user.id), or(isNull(users.twoFactorStep), lt(users.twoFactorStep, step))),
      )
      .returning({ id: users.id })
    return accepted.length === 1
  }

  function hashCode(userId: string, code: string): string {
    return hmac(recoveryKey, `${userId}.${code}`)
  }
}

function isTotp(code: string): boolean {
  return /^\d{6}$/.test(code)
}

function alreadyOn(): AppError {
  return new AppError('conflict', 'Two-factor authentication is already on.')
}

function notOn(): AppError {
  return new AppError('conflict', 'Two-factor authentication is not on.')
}
