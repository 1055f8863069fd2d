import { CommandError } from '../../../lib/command.ts'
import { AppError } from '../../../lib/errors.ts'
import { noSpaceLeft, unavailable } from '../storage-error.ts'

type DriverError = Error & { code?: string; errno?: string | number }

/** The SQLSTATE of a change refused because the data was moved: see `refuseChanges`. */
export const MOVED_STATE = 'HPMVD'
/** The SQLSTATE of a statement that waited too long for a lock. */
export const LOCK_NOT_AVAILABLE = '55P03'

/** The database cannot be used; the message says why and what to do. */
export class DatabaseRefusal extends CommandError {
  override readonly name = 'DatabaseRefusal'
}

/** The SQLSTATE of a server error; null for other errors. */
export function sqlState(error: unknown): string | null {
  const { code, errno } = error as DriverError
  const isState = /^ERR_POSTGRES_(SERVER|SYNTAX)_ERROR$/.test(code ?? '')
  return isState ? String(errno) : null
}

/** Whether the connection was lost or never made: the outcome of the statement is unknown. */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlState(error)
  if (state !== null) return /^(57P0[1-5]|08\w{3}|53300|25006|25P03)$/.test(state)
  const { code = '' } = error as DriverError
  return (
    error instanceof ResponseTimeout ||
    isRefusedCertificate(error) ||
    /^(ERR_POSTGRES_\w+|E[A-Z]+)$/.test(code)
  )
}

/** Whether the server cannot store changes: it is lost, read-only or full, or its data was moved. */
export function isStoreFailure(error: unknown): boolean {
  const cause = error instanceof AppError ? (error.cause ?? {}) : error
  return isConnectionLost(cause) || /^(42501|53100|58\w{3}|HPMVD)$/.test(sqlState(cause) ?? '')
}

/** What to do about errors of the server, by SQLSTATE. */
const ADVICE: Record<string, string> = {
  '25006': 'connect to the primary server, and turn off default_transaction_read_only',
  '42501': '"homeport doctor" names the missing rights',
  '53300':
    'raise max_connections of the server, or the limit of the role or database, or lower DATABASE_POOL',
}

/** Adds advice to an error. A pooler that lost a prepared statement causes a `DatabaseRefusal`. */
export function explain(error: unknown): unknown {
  const state = sqlState(error) ?? ''
  const advice = ADVICE[state]
  if (advice !== undefined) {
    const { message, code, errno } = error as DriverError
    return Object.assign(new Error(`${message}: ${advice}`), { code, errno })
  }
  if (!/^(42P05|26000)$/.test(state)) return error
  return new DatabaseRefusal(
    `A pooler mixes up prepared statements (${(error as Error).message}): set max_prepared_statements = 200 in pgbouncer (1.21 or later), or use pool_mode = session.`,
    { cause: error },
  )
}

/** Whether a change conflicted with another one. */
export function isConflict(error: unknown): boolean {
  return /^(40001|40P01|55P03)$/.test(sqlState(error) ?? '')
}

export function isRefusedCertificate(error: unknown): boolean {
  return /CERT|^ERR_(SSL|TLS)/.test((error as DriverError).code ?? '')
}

export class ResponseTimeout extends Error {
  override readonly name = 'ResponseTimeout'
}

/** Converts server failures, and text that the server cannot store, to an `AppError`; other errors stay unchanged. */
export function asAppError(error: unknown): unknown {
  if (error instanceof AppError) return error
  const state = sqlState(error)
  if (state === '53100') return noSpaceLeft(error)
  if (state === '22021') return new AppError('validation_failed', 'Text must not contain U+0000.')
  if (state === MOVED_STATE) return unavailable(error)
  const isUnable = state !== null && /^(42501|53\w{3}|40001|40P01|55P03|57014)$/.test(state)
  return isUnable || isConnectionLost(error) ? unavailable(error) : error
}
