import { codeRequired, wrongCode } from '../../../../lib/errors.ts'
import type { User } from '../../state.ts'

/** The two-factor code that the fake server accepts, any number of times. */
export const TWO_FACTOR_CODE = '123456'

/** Consumes a recovery code, or accepts the fixed code. */
export function passSecondStep(user: User, code: string): boolean {
  if (code === TWO_FACTOR_CODE) return user.hasSecret || user.twoFactorSince !== null
  const plain = code.toLowerCase().replace(/[\s-]/g, '')
  const isKnown = user.recoveryCodes.includes(plain)
  user.recoveryCodes = user.recoveryCodes.filter((known) => known !== plain)
  return isKnown
}

/** Consumes the code that a change of credentials needs if two-factor is on. */
export function requireSecondStep(user: User, code: string | undefined) {
  if (user.twoFactorSince === null) return
  if (!code) throw codeRequired()
  if (!passSecondStep(user, code)) throw wrongCode(user.id)
}
