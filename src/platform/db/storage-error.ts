import { AppError } from '../../lib/errors.ts'

/** The database cannot be used at the moment. */
export function unavailable(cause?: unknown): AppError {
  return new AppError('unavailable', 'The database is unavailable. Try again in a moment.', {
    retryAfterSeconds: 5,
    cause,
  })
}

export function noSpaceLeft(cause: unknown): AppError {
  return new AppError('insufficient_storage', 'The server has no space left. Try again later.', {
    cause,
  })
}
