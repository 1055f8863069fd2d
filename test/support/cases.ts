import { isOnPostgres } from './databases.ts'

/** The share of cases in a quick run on PostgreSQL, where only the queries differ, not the rules. */
const POSTGRES_SHARE = 1 / 3

/** How many cases a test runs: a few, or all in the slow runs of the files `all-cases.fault.ts`. */
export function cases(few: number, all: number): number {
  if (process.env['ALL_CASES']) return all
  return isOnPostgres ? Math.ceil(few * POSTGRES_SHARE) : few
}
