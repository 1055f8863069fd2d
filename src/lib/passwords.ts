import { randomBytes } from 'node:crypto'
import { type Argon2, loadArgon2, type PasswordCost } from './argon2.ts'
import { AppError } from './errors.ts'
import { createFairQueue } from './fair-queue.ts'
import type { Log } from './log.ts'

/** What a hash costs by `PASSWORD_HASHING`: the first recommendation of OWASP's cheat sheet, or more than three times its memory. */
export const PASSWORD_COSTS = {
  standard: { memoryCost: 19_456, timeCost: 2 },
  strong: { memoryCost: 65_536, timeCost: 2 },
} satisfies Record<string, PasswordCost>

/** A standard hash keeps a core busy for about 10 ms: a full queue lasts some three seconds on two cores. */
const QUEUE = { places: 2, onFull: tooMany }
const QUEUE_LIMIT = 512
/** In ms. */
const MAX_WAIT = 20_000

export type Passwords = ReturnType<typeof createPasswords>

/** What a caller may do once it is its turn. */
type Hasher = {
  hash: (password: string) => Promise<string>
  verify: (password: string, stored: string | null) => Promise<boolean>
}

/** Hashes and verifies off the event loop, two at a time. Throws `unavailable` when too many wait. */
export function createPasswords(cost: PasswordCost, log: Log, queueLimit = QUEUE_LIMIT) {
  const { memoryCost, timeCost } = cost
  let argon2: Promise<Argon2> | null = null
  /** What a stored hash of today's cost begins with. */
  const current = `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=1$`
  const takePlace = createFairQueue({ ...QUEUE, queueLimit })
  const decoy = `${current}${randomBase64()}$${randomBase64()}`
  const hasher: Hasher = { hash: hashNow, verify: verifyNow }
  return { inTurn, hash, isOutdated }

  /**
   * Runs `work` when the turn of `holders` has come: the address and the account of an attempt. An attempt that is
   * refused here never began, so it is counted inside.
   */
  async function inTurn<T>(holders: string[], work: (hasher: Hasher) => Promise<T>): Promise<T> {
    using _place = await takePlace(holders, 1, AbortSignal.timeout(MAX_WAIT))
    return await work(hasher)
  }

  function hash(password: string, holders: string[]): Promise<string> {
    return inTurn(holders, () => hashNow(password))
  }

  async function hashNow(password: string): Promise<string> {
    return (await load()).hash(password)
  }

  /** Without a hash (no such user) a hash that no password has is tried: the same work is done, so that the time tells nothing. */
  async function verifyNow(password: string, stored: string | null): Promise<boolean> {
    const matches = await (await load()).verify(stored ?? decoy, password)
    return matches && stored !== null
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
