import { notFound } from '../../lib/errors.ts'

export const ENVIRONMENTS = ['production', 'sandbox'] as const

/** Production purchases are paid for; sandbox purchases are tests. */
export type Environment = (typeof ENVIRONMENTS)[number]

/** As billing providers and the database write it. */
export type StoredEnvironment = Uppercase<Environment>

export function storedEnvironment(environment: Environment): StoredEnvironment {
  return environment === 'sandbox' ? 'SANDBOX' : 'PRODUCTION'
}

export function toEnvironment(stored: StoredEnvironment): Environment {
  return stored === 'SANDBOX' ? 'sandbox' : 'production'
}

/** Throws 404 for the sandbox if its purchases are ignored. */
export function checkEnvironment(environment: Environment, showsSandbox: boolean) {
  if (environment === 'sandbox' && !showsSandbox) throw notFound()
}
