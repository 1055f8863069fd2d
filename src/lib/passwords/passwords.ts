import { randomBytes } from 'node:crypto'
import { createFairSlots } from '../concurrency/fair-slots.ts'
import { type AppError, tooBusy } from '../errors.ts'
import type { Log } from '../log/log.ts'
import { type Argon2, loadArgon2, type PasswordCost } from './argon2.ts'
import { isForeign, verifyForeign } from './imported-password-hashes.ts'

/** The cost for each value of `PASSWORD_HASHING`: the first recommendation of OWASP's cheat sheet, or over three times its memory. */
export const PASSWORD_COSTS = {
  standard: { memoryCost: 19_456, timeCost: 2 },
  strong: { memoryCost: 65_536, timeCost: 2 },
} satisfies Record<string, PasswordCost>

/** A standard hash takes about 10 ms of CPU time: two cores clear a full queue in about three seconds. */
const QUEUE = { slots: 2, onFull: tooMany }
const QUEUE_LIMIT = 512
const MAX_WAIT_MS = 20_000

export type Passwords = ReturnType<typeof createPasswords>

export type Hasher = {
  hash: (password: string) => Promise<string>
  verify: (password: string, stored: string | null) => Promise<boolean>
  /** Whether the hash of this password should be replaced: another cost, another system, or not normalized. */
  isOutdated: (password: string, stored: string) => Promise<boolean>
}

/** Hashes and verifies off the event loop, two at a time. Throws `unavailable` when too many wait. */
export function createPasswords(cost: PasswordCost, log: Log, queueLimit = QUEUE_LIMIT) {
  let argon2: Promise<Argon2> | null = null
  const current = formatPrefix(cost)
  const acquireSlot = createFairSlots({ ...QUEUE, queueLimit })
  const decoy = `${current}${randomBase64()}$${randomBase64()}`
  const hasher: Hasher = { hash: hashNow, verify: verifyNow, isOutdated }
  return { serialize, hash }

  /** Queues by `holders`, the IP address and the account. Count attempts in `work`, so that a refused call does not count. */
  async function serialize<T>(holders: string[], work: (hasher: Hasher) => Promise<T>): Promise<T> {
    using _slot = await acquireSlot(holders, 1, AbortSignal.timeout(MAX_WAIT_MS))
    return await work(hasher)
  }

  function hash(password: string, holders: string[]): Promise<string> {
    return serialize(holders, () => hashNow(password))
  }

  async function hashNow(password: string): Promise<string> {
    return (await load()).hash(password.normalize('NFC'))
  }

  /** Also accepts hashes made before passwords were normalized, or by a system that does not normalize them. */
  async function verifyNow(password: string, stored: string | null): Promise<boolean> {
    for (const form of listForms(password)) if (await verifyForm(form, stored)) return true
    return false
  }

  /** Without a stored hash (no such user) a decoy is verified, so that the time reveals nothing. */
  async function verifyForm(password: string, stored: string | null): Promise<boolean> {
    if (stored !== null && isForeign(stored)) return verifyForeign(stored, password)
    const matches = await (await load()).verify(stored ?? decoy, password)
    return matches && stored !== null
  }

  function load(): Promise<Argon2> {
    argon2 ??= loadArgon2(cost, (err) =>
      log.warn({ err }, 'the argon2 addon cannot be loaded: Bun hashes passwords, more slowly'),
    )
    return argon2
  }

  async function isOutdated(password: string, stored: string): Promise<boolean> {
    if (!stored.startsWith(current)) return true
    const [normalized, ...others] = listForms(password)
    return others.length > 0 && !(await verifyForm(normalized, stored))
  }
}

/** Whether a hash has one of the costs that Homeport hashes with. */
export function isOwnHash(stored: string): boolean {
  return Object.values(PASSWORD_COSTS).some((cost) => stored.startsWith(formatPrefix(cost)))
}

function formatPrefix({ memoryCost, timeCost }: PasswordCost): string {
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=1$`
}

/** The normalized password first. Most passwords are the same in all forms. */
function listForms(password: string): [string, ...string[]] {
  const normalized = password.normalize('NFC')
  const others = new Set([password, password.normalize('NFD')])
  others.delete(normalized)
  return [normalized, ...others]
}

function randomBase64(): string {
  return randomBytes(32).toString('base64').replace('=', '')
}

function tooMany(): AppError {
  return tooBusy('Too many sign-ins at the moment. Try again shortly.')
}
