import { sqlState } from './postgres/errors.ts'
import { sqliteCode } from './sqlite/storage-error.ts'

/** Whether a change broke a rule of the schema: a key that is there already, or a parent that is not. */
export function isConstraintError(error: unknown): boolean {
  return /^(23\w{3}$|SQLITE_CONSTRAINT)/.test(sqlState(error) ?? sqliteCode(error) ?? '')
}
