import { AppError } from '../../lib/errors.ts'
import { createSemaphore } from '../../lib/semaphore.ts'

/** OWASP's argon2id: 64 MiB, two passes; Bun runs one lane. */
const ARGON2ID = { algorithm: 'argon2id', memoryCost: 65_536, timeCost: 2 } as const

/** Each hash takes 64 MiB and a core for some 100 ms: this many side by side, this many waiting. */
const SIDE_BY_SIDE = 2
const WAITING = 256

export type Passwords = ReturnType<typeof createPasswords>

/** Hashes and verifies off the event loop, a few at a time. Throws `unavailable` when too many wait. */
export function createPasswords() {
  const inTurn = createSemaphore(SIDE_BY_SIDE, WAITING, tooMany)
  const decoy = Bun.password.hash(crypto.randomUUID(), ARGON2ID)
  return { hash, verify }

  function hash(password: string): Promise<string> {
    return inTurn(() => Bun.password.hash(password, ARGON2ID))
  }

  /** Without a hash (no such user) the same work is done, so that the time tells nothing. */
  function verify(password: string, stored: string | null): Promise<boolean> {
    return inTurn(async () => {
      const matches = await Bun.password.verify(password, stored ?? (await decoy))
      return matches && stored !== null
    })
  }
}

function tooMany(): AppError {
  return new AppError('unavailable', 'Too many people sign in just now. Try again in a moment.', {
    retryAfterSeconds: 5,
  })
}
