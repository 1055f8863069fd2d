import { Algorithm, hash as hashPassword, verify as verifyPassword } from '@node-rs/argon2'
import { createTurns } from './turns.js'

/** The same as Homeport's. */
const OPTIONS = { algorithm: Algorithm.Argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** One per core; more would only slow each down. */
const inTurn = createTurns(2)
const decoy = await hashPassword('nobody has this one', OPTIONS)

export function hash(password) {
  return inTurn(() => hashPassword(password, OPTIONS))
}

/** Does the same work without a hash (unknown user). */
export async function verify(password, stored) {
  const matches = await inTurn(() => verifyPassword(stored ?? decoy, password))
  return matches && stored !== undefined
}
