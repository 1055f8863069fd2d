import { Algorithm, hash as hashPassword, verify as verifyPassword } from '@node-rs/argon2'
import { createLimiter } from './limiter.js'

/** The same as Homeport's. */
const OPTIONS = { algorithm: Algorithm.Argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** One per core; more would only slow each down. */
const limited = createLimiter(2)
const decoy = await hashPassword('no user has this password', OPTIONS)

export function hash(password) {
  return limited(() => hashPassword(password, OPTIONS))
}

/** Does the same work if there is no stored hash (unknown user). */
export async function verify(password, stored) {
  const matches = await limited(() => verifyPassword(stored ?? decoy, password))
  return matches && stored !== undefined
}
