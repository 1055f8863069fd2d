import { and, eq } from 'drizzle-orm'
import { encode } from 'uqr'
import { hmac } from '../../lib/crypto/hash.ts'
import { seal, unseal } from '../../lib/crypto/seal.ts'
import { acceptedStep, formatOtpauthUrl, newTotpSecret } from '../../lib/crypto/totp.ts'
import { AppError, type Denial, tryTo, wrongCode } from '../../lib/errors.ts'
import { checkPassword } from '../../lib/passwords/password-rules.ts'
import type { Passwords } from '../../lib/passwords/passwords.ts'
import { newRecoveryCodes, plainCode } from '../../lib/passwords/recovery-codes.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { BackoffRule, Limit, Limits, WindowRule } from '../../platform/limits/limits.ts'
import type { OperatorAccounts, OperatorRow } from './accounts.ts'
import type { OperatorsDb } from './schema.ts'

type OperatorPasswordDeps = {
  db: OperatorsDb
  accounts: OperatorAccounts
  passwords: Passwords
  limits: Limits
  sealKey: Uint8Array
  recoveryKey: Uint8Array
  appName: string
  now: () => Date
}

export type OperatorPassword = ReturnType<typeof createOperatorPassword>

const MIN_PASSWORD_LENGTH = 10
const PER_OPERATOR: BackoffRule = { name: 'operator-sign-in', free: 5, maxDelay: 15 * 60 }
const PER_CODE: WindowRule = { name: 'operator-code', max: 10, seconds: 15 * 60 }
/** Counted separately, so that a stranger who knows the name cannot block a signed-in operator. */
const PER_PROOF: WindowRule = { name: 'operator-proof', max: 10, seconds: 15 * 60 }
/** Keeps the chance of guessing a code near 2 % in a year for a thief who knows the password or has a session. */
const CODES_PER_DAY: WindowRule = { name: 'operator-code-day', max: 20, seconds: 24 * 60 * 60 }
const PROOFS_PER_DAY: WindowRule = { name: 'operator-proof-day', max: 20, seconds: 24 * 60 * 60 }

/** Signs operators in with a password and TOTP (RFC 6238) or a recovery code. */
export function createOperatorPassword(deps: OperatorPasswordDeps) {
  const { db, accounts, passwords, limits, sealKey, recoveryKey, appName, now } = deps
  const { operators, operatorRecoveryCodes } = db.tables
  return { createTotpSetup, setUp, verify, prove }

  /** Creates a TOTP secret to scan. The browser returns `sealed` with the first code; nothing is stored until then. */
  function createTotpSetup(name: string) {
    const secret = newTotpSecret()
    const url = formatOtpauthUrl(secret, `${appName} console`, name)
    const rows = encode(url).data.map((row) => row.map((isDark) => (isDark ? '1' : '0')).join(''))
    return { secret, url, qr: rows, sealed: seal(sealKey, `${name} ${secret}`) }
  }

  /** Checks a new password and the first code. Returns the recovery codes, and a function that stores everything. */
  async function setUp(
    { id, name }: Pick<OperatorRow, 'id' | 'name'>,
    { password, code, sealed }: { password: string; code: string; sealed: string },
  ) {
    const rules = { minLength: MIN_PASSWORD_LENGTH, email: '', name, field: 'password' }
    await checkPassword(password, rules)
    const secret = readTotpSetup(name, sealed)
    const totpStep = acceptedStep(secret, plainCode(code), now(), null)
    if (totpStep === null) throw wrongCode(id)
    const passwordHash = await passwords.hash(password, [id])
    const codes = newRecoveryCodes()
    const store = async (tx: Tx) => {
      const chosen = { passwordHash, totpSecret: seal(sealKey, secret), totpStep }
      await tx.update(operators).set(chosen).where(eq(operators.id, id))
      await tx.delete(operatorRecoveryCodes).where(eq(operatorRecoveryCodes.operatorId, id))
      const rows = codes.map((recoveryCode) => ({
        operatorId: id,
        hash: hashCode(id, recoveryCode),
      }))
      await tx.insert(operatorRecoveryCodes).values(rows)
      for (const limit of [...listCodeLimits(id), ...listProofLimits(id)])
        await limits.resetCounter(tx, limit)
    }
    return { store, codes }
  }

  /** Verifies name and password. Returns a function that consumes the code. Every failure throws the same error. */
  async function verify(name: string, password: string, code: string, ip: string) {
    const attempts = [toLimit(PER_OPERATOR, name)]
    await limits.check(attempts)
    return passwords.serialize([ip, name], async (hasher) => {
      const attempt = await limits.reserve(attempts)
      const operator = await accounts.findByName(db.read, name)
      const matches = await hasher.verify(password, operator?.passwordHash ?? null)
      if (!operator) throw wrongCredentials({ reason: 'unknown_account' })
      if (!matches) throw wrongCredentials({ reason: 'wrong_password', userId: operator.id })
      const { id } = operator
      const codeAttempt = await limits.reserve(listCodeLimits(id))
      const complete = async (tx: Tx) => {
        if (!(await consumeCode(tx, id, code)))
          throw wrongCredentials({ reason: 'wrong_code', userId: id })
        await attempt.release(tx)
        await codeAttempt.release(tx)
      }
      return { operatorId: id, complete }
    })
  }

  /** Throws if the code is wrong. */
  async function prove(operatorId: string, code: string) {
    const reservation = await limits.reserve(listProofLimits(operatorId))
    await db.write(async (tx) => {
      if (!(await consumeCode(tx, operatorId, code))) throw wrongCode(operatorId)
      await reservation.release(tx)
    })
  }

  async function consumeCode(tx: Tx, id: string, typed: string): Promise<boolean> {
    const code = plainCode(typed)
    if (!/^\d{6}$/.test(code)) return consumeRecoveryCode(tx, id, code)
    const operator = await accounts.find(tx, id)
    if (!operator?.totpSecret) return false
    const secret = unsealOrNull(operator.totpSecret)
    const step = secret && acceptedStep(secret, code, now(), operator.totpStep)
    if (!step) return false
    await tx.update(operators).set({ totpStep: step }).where(eq(operators.id, id))
    return true
  }

  async function consumeRecoveryCode(tx: Tx, id: string, code: string): Promise<boolean> {
    const hash = hashCode(id, code)
    const used = await tx
      .delete(operatorRecoveryCodes)
      .where(and(eq(operatorRecoveryCodes.operatorId, id), eq(operatorRecoveryCodes.hash, hash)))
      .returning({ hash: operatorRecoveryCodes.hash })
    return used.length === 1
  }

  function readTotpSetup(name: string, sealed: string): string {
    const text = unsealOrNull(sealed) ?? ''
    const at = text.lastIndexOf(' ')
    if (text.slice(0, at) === name) return text.slice(at + 1)
    throw new AppError('malformed_request', 'Scan the QR code again.')
  }

  /** Null if it was not sealed with the current key. */
  function unsealOrNull(sealed: string): string | null {
    return tryTo(() => unseal(sealKey, sealed)) ?? null
  }

  function hashCode(operatorId: string, code: string): string {
    return hmac(recoveryKey, `operator.${operatorId}.${code}`)
  }
}

function listCodeLimits(id: string): Limit[] {
  return [PER_CODE, CODES_PER_DAY].map((rule) => toLimit(rule, id))
}

function listProofLimits(id: string): Limit[] {
  return [PER_PROOF, PROOFS_PER_DAY].map((rule) => toLimit(rule, id))
}

function toLimit(rule: BackoffRule | WindowRule, key: string): Limit {
  return { rule, key }
}

function wrongCredentials(denial: Denial): AppError {
  return new AppError(
    'invalid_credentials',
    'The name, the password or the code is wrong. A code works only once.',
    {
      denial,
    },
  )
}
