import { Algorithm, hash as hashPassword, verify as verifyPassword } from '@node-rs/argon2'
import { createTurns } from './turns.js'

/** Those of Homeport. */
const OPTIONS = { algorithm: Algorithm.Argon2id, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** As many at once as there are cores: more would only make each of them slower. */
const inTurn = createTurns(2)
const decoy = await hashPassword('nobody has this one', OPTIONS)

export function hash(password) {
  return inTurn(() => hashPassword(password, OPTIONS))
}

/** Without a hash (no such user) the same work is done. */
export async function verify(password, stored) {
  const matches = await inTurn(() => verifyPassword(stored ?? decoy, password))
  return matches && stored !== undefined
}
