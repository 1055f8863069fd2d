import { randomBytes } from 'node:crypto'
import { type Argon2, loadArgon2, type PasswordCost } from './argon2.ts'
import { AppError } from './errors.ts'
import type { Log } from './log.ts'
import { createSemaphore } from './semaphore.ts'

/** OWASP's argon2id: 64 MiB, two passes, one lane. */
export const PASSWORD_COST: PasswordCost = { memoryCost: 65_536, timeCost: 2 }

/** Each hash takes 64 MiB and a core for some 50 ms: the limits on concurrent hashes, on waiting ones, and on the wait in ms. */
const QUEUE = { limit: 2, queueLimit: 256, maxWait: 2_000, onFull: tooMany }

export type Passwords = ReturnType<typeof createPasswords>

/** Hashes and verifies off the event loop, a few at a time. Throws `unavailable` when too many wait. */
export function createPasswords(cost: PasswordCost, log: Log) {
  const { memoryCost, timeCost } = cost
  let argon2: Promise<Argon2> | null = null
  /** What a stored hash of today's cost begins with. */
  const current = `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=1$`
  const inTurn = createSemaphore(QUEUE)
  const decoy = `${current}${randomBase64()}$${randomBase64()}`
  return { hash, verify, isOutdated }

  function hash(password: string): Promise<string> {
    return inTurn(async () => (await load()).hash(password))
  }

  /** Without a hash (no such user) a hash that no password has is tried: the same work is done, so that the time tells nothing. */
  function verify(password: string, stored: string | null): Promise<boolean> {
    return inTurn(async () => {
      const matches = await (await load()).verify(stored ?? decoy, password)
      return matches && stored !== null
    })
  }

  function load(): Promise<Argon2> {
    argon2 ??= loadArgon2(cost, (err) =>
      log.warn({ err }, 'hashes are made by Bun, which is slower'),
    )
    return argon2
  }

  /** Whether a hash was made with other parameters than today's. */
  function isOutdated(stored: string): boolean {
    return !stored.startsWith(current)
  }
}

function randomBase64(): string {
  return randomBytes(32).toString('base64').replace('=', '')
}

function tooMany(): AppError {
  return new AppError('unavailable', 'Too many sign-ins at the moment. Try again shortly.', {
    retryAfterSeconds: 5,
  })
}
