import { AppError } from '../../lib/errors.ts'
import { sqliteCode } from './sqlite/storage-error.ts'

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

/** An error of the database or its disk, not of the query, as an `AppError`; null for other errors. */
export function asStorageError(error: unknown): AppError | null {
  const code = sqliteCode(error) ?? String((error as { code?: unknown } | null)?.code)
  if (/^(SQLITE_FULL|ENOSPC|EDQUOT)$/.test(code)) {
    return noSpaceLeft(error)
  }
  if (/^(EROFS|EIO|EMFILE|ENFILE)$/.test(code)) return unavailable(error)
  if (/^SQLITE_(BUSY|IOERR|READONLY|NOMEM|CANTOPEN|CORRUPT|NOTADB|LOCKED|PROTOCOL)/.test(code)) {
    return unavailable(error)
  }
  return null
}
