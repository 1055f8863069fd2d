import type { ErrorDetail } from '../api-error.ts'
import { failure } from './failure.ts'

/** The most common passwords; the real server knows 49,000. */
const COMMON =
  /^(password\d*|12345678\d*|qwerty\w*|iloveyou|letmein1?|abc12345|11111111|football)$/i

/** Reports the errors of the fields together. */
export function checkFields(...details: (ErrorDetail | null)[]) {
  const found = details.filter((detail) => detail !== null)
  if (found.length === 0) return
  const [first] = found
  const isPassword = found.length === 1 && /password$/i.test(first?.path ?? '')
  const message = isPassword ? `The password ${first?.message}.` : 'Some fields are invalid.'
  throw failure('validation_failed', message, found)
}

export function emailFault(email: string): ErrorDetail | null {
  const isAddress = /^[^\s@"<>,]+@[^\s@.,]+(\.[^\s@.,]+)*$/.test(email) && email.length <= 254
  return isAddress ? null : { path: 'email', message: 'must be an e-mail address' }
}

/** Why a password is refused. `personal`: the user's address and name. */
export function passwordFault(
  password: string,
  path: string,
  personal: (string | null)[],
): ErrorDetail | null {
  const own = personal.flatMap((text) => [text, text?.split('@')[0]]).filter(Boolean)
  const plain = password.toLowerCase()
  const message =
    [...password].length < 8
      ? 'must have 8 characters or more'
      : [...password].length > 256
        ? 'must have 256 characters or fewer'
        : own.some((text) => text?.toLowerCase() === plain)
          ? 'must not be your address or name'
          : new Set(password).size === 1
            ? 'must not repeat a single character'
            : COMMON.test(password)
              ? 'is too common'
              : null
  return message === null ? null : { path, message }
}

/** A BCP 47 tag in its canonical form, also for `de_DE.UTF-8`; null if it is invalid. */
export function asLocale(tag: string): string | null {
  return attempt(() => Intl.getCanonicalLocales(tag.replace(/[.@].*$/, '').replace(/_/g, '-'))[0])
}

/** A time zone in IANA's spelling, `utc`, or an offset such as `+05:30`; null if it is invalid. */
export function asTimezone(name: string): string | null {
  return attempt(() => {
    const [, sign, hours = '', minutes = '00'] =
      /^(?:utc|gmt)?([+-])(\d\d?)(?::?(\d\d))?$/i.exec(name) ?? []
    const timeZone = sign ? `${sign}${hours.padStart(2, '0')}:${minutes}` : name
    const spelled = new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone
    return /^(UTC|[+-]00:00)$/.test(spelled) ? 'utc' : spelled
  })
}

/** An ISO 4217 code in lower case; null if it is invalid. */
export function asCurrency(code: string): string | null {
  return attempt(() => {
    const upper = code.toUpperCase()
    const { supportedValuesOf } = Intl as { supportedValuesOf?: (key: string) => string[] }
    const isKnown = supportedValuesOf?.('currency').includes(upper) ?? /^[A-Z]{3}$/.test(upper)
    return isKnown ? upper.toLowerCase() : null
  })
}

function attempt(work: () => string | null | undefined): string | null {
  try {
    return work() ?? null
  } catch {
    return null
  }
}
