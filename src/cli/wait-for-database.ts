import type { Config } from '../config.ts'
import { AppError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { DatabaseUnreachable } from './data-error.ts'

/** Between two attempts, in ms. */
const RETRY = 500

/** Opens data again while its database server cannot be reached, for as long as `isWaiting` says so. */
export async function waitForDatabase<T>(
  { databaseUrl }: Config,
  log: Log,
  isWaiting: () => boolean,
  open: () => Promise<T>,
): Promise<T> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await open()
    } catch (error) {
      if (databaseUrl === null || !isUnreachable(error) || !isWaiting()) throw error
      if (isFirst) log.warn(`${(error as Error).message} The start waits for it.`)
    }
    await Bun.sleep(RETRY)
  }
}

/** The server may also be lost, or be a standby, once it has answered. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof DatabaseUnreachable) return true
  return error instanceof AppError && error.code === 'unavailable'
}
