import { invalidField } from '../../../lib/errors.ts'
import { isStorableText } from '../../../lib/validation.ts'

/**
 * The operator, user of a command or API key that linked a purchase or granted access, and the reason. Stored in events
 * as `support`.
 */
export type Attribution = { by: string; reason: string }

export const MAX_REASON_LENGTH = 500
/** How the console presents the field. */
export const REASON_FIELD = { hint: 'Shown in the user’s history and export', isProse: true }

/** Reads the attribution of a stored event. Null for events of the billing provider, and once the user is deleted. */
export function readAttribution(value: unknown): Attribution | null {
  if (value === null || typeof value !== 'object') return null
  const { by, reason } = value as Partial<Record<keyof Attribution, unknown>>
  return typeof by === 'string' && typeof reason === 'string' ? { by, reason } : null
}

/** Trims the reason. Throws 422 if it is missing or too long. */
export function checkAttribution({ by, reason: text }: Attribution): Attribution {
  const reason = text.trim()
  const isValid = reason !== '' && [...reason].length <= MAX_REASON_LENGTH && isStorableText(reason)
  if (!isValid) throw invalidField('reason', `must have 1 to ${MAX_REASON_LENGTH} characters`)
  return { by, reason }
}
