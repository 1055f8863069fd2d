import { AppError, invalidFields } from '../../lib/errors.ts'

export function unauthenticated(message: string): AppError {
  return new AppError('unauthenticated', message, { denial: { reason: 'unknown_token' } })
}

export function notSignedIn(): AppError {
  return unauthenticated('The token is invalid or has expired: sign in again.')
}

export function invalidLink(): AppError {
  return unauthenticated('This link was already used or has expired: request a new one.')
}

export function invalidCredentials(message: string): AppError {
  return new AppError('invalid_credentials', message, { denial: { reason: 'wrong_password' } })
}

/** Throws `validation_failed` unless these fields are strings. */
export function checkTexts(input: object, names: string[]) {
  const wrong = names.filter((name) => typeof (input as Record<string, unknown>)[name] !== 'string')
  if (wrong.length > 0)
    throw invalidFields(wrong.map((path) => ({ path, message: 'must be text' })))
}
