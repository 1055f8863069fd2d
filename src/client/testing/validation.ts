import { AppError, type ErrorDetail } from '../../lib/errors.ts'

/** The most common passwords; the real server knows 49,000. */
const COMMON =
  /^(password\d*|12345678\d*|qwerty\w*|iloveyou|letmein1?|abc12345|11111111|football)$/i

/** Reports the errors of the fields together. */
export function checkFields(...fields: (ErrorDetail | null)[]) {
  const details = fields.filter((field) => field !== null)
  const [first] = details
  if (!first) return
  const isPassword = details.length === 1 && /password$/i.test(first.path)
  const message = isPassword ? `The password ${first.message}.` : 'Some fields are invalid.'
  throw new AppError('validation_failed', message, { details })
}

/** Returns the error of an address; null if it is valid. */
export function checkEmail(email: string): ErrorDetail | null {
  const isAddress = /^[^\s@"<>,]+@[^\s@.,]+(\.[^\s@.,]+)*$/.test(email) && email.length <= 254
  return isAddress ? null : { path: 'email', message: 'must be an e-mail address' }
}

/** Returns the error of a password; null if it is valid. `personal`: the user's address and name. */
export function checkPassword(
  password: string,
  path: string,
  personal: (string | null)[],
): ErrorDetail | null {
  const own = personal.flatMap((text) => [text, text?.split('@')[0]]).filter(Boolean)
  const plain = password.toLowerCase()
  const rules: [isBroken: boolean, message: string][] = [
    [[...password].length < 8, 'must have 8 characters or more'],
    [[...password].length > 256, 'must have 256 characters or fewer'],
    [own.some((text) => text?.toLowerCase() === plain), 'must not be your address or name'],
    [new Set(password).size === 1, 'must not repeat a single character'],
    [COMMON.test(password), 'is too common'],
  ]
  const broken = rules.find(([isBroken]) => isBroken)
  return broken ? { path, message: broken[1] } : null
}
