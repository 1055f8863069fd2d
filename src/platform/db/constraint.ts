import { sqlState } from './postgres/errors.ts'
import { sqliteCode } from './sqlite/storage-error.ts'

/** Whether a change violated a constraint, such as a duplicate key or a missing parent. */
export function isConstraintError(error: unknown): boolean {
  return /^(23\w{3}$|SQLITE_CONSTRAINT)/.test(sqlState(error) ?? sqliteCode(error) ?? '')
}
