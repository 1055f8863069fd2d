import { createCipheriv, pbkdf2, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/**
 * Password hashes of other systems, kept until the user next signs in:
 *
 * - `$2b$10$…` bcrypt, also read as `$2a$` and `$2y$`
 * - `$argon2id$v=19$m=65536,t=3,p=4$salt$hash`, also `argon2i` and `argon2d`
 * - `$pbkdf2-sha256$i=600000$salt$hash`, also `sha1` and `sha512`
 * - `$firebase-scrypt$ln=14,r=8$salt$keystream`
 */
type Scheme = {
  pattern: RegExp
  /** How long a verification takes on one core of a small VPS, in ms, given the numbers that the pattern captures. */
  milliseconds: (...costs: number[]) => number
  /** In KiB. */
  memory?: (...costs: number[]) => number
  isValid: (...costs: number[]) => boolean
}

/** Far above what the systems with these hashes use by default; a sign-in should not take longer. */
const MAX_VERIFICATION_MS = 1_000
const MAX_MEMORY_KIB = 128 * 1024
const DIGEST_BYTES = { sha1: 20, sha256: 32, sha512: 64 }
const BCRYPT_BASE64 = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
/** bcrypt ignores further bytes; Bun would hash a longer password first. */
const BCRYPT_BYTES = 72
/** Enough of Firebase's keystream to compare. */
const KEYSTREAM_BYTES = 32

const pbkdf2Async = promisify(pbkdf2)
const scryptAsync = promisify<string, Buffer, number, object, Buffer>(scrypt)

const BASE64 = '[A-Za-z0-9+/]'
/** Each pattern captures the kind of the hash, then its costs. */
const SCHEMES: Scheme[] = [
  {
    pattern: /^(\$2b\$(\d\d)\$)[./A-Za-z0-9]{53}$/,
    milliseconds: (cost) => 60 * 2 ** (cost - 10),
    isValid: (cost) => cost >= 4 && cost <= 31,
  },
  {
    pattern: new RegExp(
      `^(\\$argon2(?:id|i|d)\\$v=19\\$m=(\\d+),t=(\\d+),p=(\\d+)\\$)${BASE64}{11,64}\\$${BASE64}{16,86}$`,
    ),
    milliseconds: (memory, passes) => (memory * passes) / 3_900,
    memory: (memory) => memory,
    isValid: (memory, passes, lanes) =>
      passes >= 1 && lanes >= 1 && lanes <= 16 && memory >= 8 * lanes,
  },
  createPbkdf2Scheme('sha1', 0.000_12),
  createPbkdf2Scheme('sha256', 0.000_12),
  createPbkdf2Scheme('sha512', 0.000_55),
  {
    pattern: new RegExp(
      `^(\\$firebase-scrypt\\$ln=(\\d+),r=(\\d+)\\$)${BASE64}{0,172}\\$${BASE64}{43}$`,
    ),
    milliseconds: (log, blockSize) => (2 ** log * blockSize) / 2_600,
    memory: (log, blockSize) => (2 ** log * blockSize) / 8,
    isValid: (log, blockSize) => log >= 1 && blockSize >= 1,
  },
]

function createPbkdf2Scheme(digest: string, msPerIteration: number): Scheme {
  return {
    pattern: new RegExp(`^(\\$pbkdf2-${digest}\\$i=(\\d+)\\$)${BASE64}{1,172}\\$${BASE64}{22,86}$`),
    milliseconds: (iterations) => iterations * msPerIteration,
    isValid: (iterations) => iterations >= 1,
  }
}

/** The stored form of another system's hash, or why it is refused. Also reads PBKDF2 hashes of passlib and Django. */
export function readForeignHash(text: string): { hash: string } | { refused: string } {
  const hash = toCanonicalForm(text)
  const found = SCHEMES.map((scheme) => ({ scheme, match: scheme.pattern.exec(hash) }))
  const known = found.find(({ match }) => match !== null)
  if (!known) return { refused: 'the password hash has an unknown format' }
  const { milliseconds, memory, isValid } = known.scheme
  const costs = (known.match?.slice(2) ?? []).map(Number)
  const parts = hash.split('$').slice(-2)
  const isEncoded = hash.startsWith('$2b$') || parts.every((part) => base64(decode(part)) === part)
  if (!isEncoded || !isValid(...costs))
    return { refused: 'the password hash has invalid parameters' }
  const isTooExpensive =
    milliseconds(...costs) > MAX_VERIFICATION_MS || (memory?.(...costs) ?? 0) > MAX_MEMORY_KIB
  if (isTooExpensive) {
    const name = known.match?.[1]?.replace(/^\$|\$$/g, '') ?? ''
    return { refused: `the password hash takes too long or too much memory to verify (${name})` }
  }
  return { hash }
}

function toCanonicalForm(text: string): string {
  if (/^\$2[aby]\$/.test(text)) return `$2b$${clearUnusedBits(text.slice(4))}`
  const django = /^pbkdf2_(sha1|sha256|sha512)\$(\d+)\$([^$]+)\$([^$]+)$/.exec(text)
  if (django) {
    const [, digest = '', iterations, salt = '', hash = ''] = django
    return toPbkdf2Hash(digest, Number(iterations), Buffer.from(salt), Buffer.from(hash, 'base64'))
  }
  const phc =
    /^\$pbkdf2(?:-(sha1|sha256|sha512))?\$(?:i=)?(\d+)(?:,l=\d+)?\$([^$]+)\$([^$]+)$/.exec(text)
  if (phc) {
    const [, digest = 'sha1', iterations, salt = '', hash = ''] = phc
    // passlib writes a dot for a plus sign.
    const bytes = (part: string) => Buffer.from(part.replaceAll('.', '+'), 'base64')
    return toPbkdf2Hash(digest, Number(iterations), bytes(salt), bytes(hash))
  }
  return text.replace(/=+$/, '')
}

/** Old libraries set bits of the salt's and the hash's last character that bcrypt does not use; Bun refuses them. */
function clearUnusedBits(bcrypt: string): string {
  const clear = (character: string, step: number) =>
    BCRYPT_BASE64[Math.floor(BCRYPT_BASE64.indexOf(character) / step) * step] ?? character
  return bcrypt.replace(
    /^(\d\d\$.{21})(.)(.{30})(.)$/,
    (_, start, salt, hash, end) => start + clear(salt, 16) + hash + clear(end, 4),
  )
}

/** A longer hash only repeats the work: its first block proves the password. */
function toPbkdf2Hash(digest: string, iterations: number, salt: Buffer, hash: Buffer): string {
  const block = hash.subarray(0, DIGEST_BYTES[digest as keyof typeof DIGEST_BYTES])
  return `$pbkdf2-${digest}$i=${iterations}$${base64(salt)}$${base64(block)}`
}

/** Firebase's parameters of a project; its signer key is a secret. */
export type FirebaseParameters = {
  signerKey: Uint8Array
  saltSeparator: Uint8Array
  rounds: number
  memCost: number
}

/**
 * The stored form of Firebase's hash; null if it does not fit the parameters. Firebase encrypts the signer key with a
 * key derived from the password; the stored keystream is as hard to guess, and not the project's secret.
 */
export function firebaseHash(
  { signerKey, saltSeparator, rounds, memCost }: FirebaseParameters,
  passwordHash: string,
  salt: string,
): string | null {
  const encrypted = Buffer.from(passwordHash, 'base64')
  if (encrypted.length !== signerKey.length || encrypted.length < KEYSTREAM_BYTES) return null
  const keystream = encrypted.map((byte, at) => byte ^ (signerKey[at] ?? 0))
  const wholeSalt = Buffer.concat([Buffer.from(salt, 'base64'), saltSeparator])
  const start = Buffer.from(keystream.subarray(0, KEYSTREAM_BYTES))
  return `$firebase-scrypt$ln=${memCost},r=${rounds}$${base64(wholeSalt)}$${base64(start)}`
}

/** Whether a stored hash uses an algorithm other than argon2, which `Argon2` verifies. */
export function isForeign(stored: string): boolean {
  return !stored.startsWith('$argon2')
}

/** Verifies a foreign hash off the event loop. */
export async function verifyForeign(stored: string, password: string): Promise<boolean> {
  if (stored.startsWith('$2b$')) {
    const bytes = Buffer.from(password).subarray(0, BCRYPT_BYTES)
    // Bun throws for an empty password and for a hash with invalid bits.
    return Bun.password.verify(bytes, stored).catch(() => false)
  }
  const [, scheme = '', costs = '', saltText = '', hashText = ''] = stored.split('$')
  const salt = Buffer.from(saltText, 'base64')
  const expected = Buffer.from(hashText, 'base64')
  const [first = 0, second = 0] = costs.split(',').map((cost) => Number(cost.split('=')[1]))
  const actual =
    scheme === 'firebase-scrypt'
      ? await deriveKeystream(password, salt, first, second)
      : await pbkdf2Async(password, salt, first, expected.length, scheme.replace('pbkdf2-', ''))
  return actual.length === expected.length && timingSafeEqual(actual, expected)
}

/** https://github.com/firebase/scrypt: AES-256-CTR with a key from scrypt and a zero counter. */
async function deriveKeystream(password: string, salt: Buffer, log: number, blockSize: number) {
  const options = { N: 2 ** log, r: blockSize, p: 1, maxmem: 2 * MAX_MEMORY_KIB * 1024 }
  const key = await scryptAsync(password, salt, 32, options)
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(KEYSTREAM_BYTES))
}

/** Algorithm and cost of a hash: the text before the salt. Hashes of one kind take equally long. */
export function findHashKind(stored: string): string {
  return stored.startsWith('$2b$')
    ? stored.slice(0, 7)
    : `${stored.split('$').slice(0, -2).join('$')}$`
}

/** How long verifying a hash of this kind takes, in ms. */
export function verificationMs(kind: string): number {
  const decoy = decoyHash(kind)
  for (const { pattern, milliseconds } of SCHEMES) {
    const match = pattern.exec(decoy)
    if (match) return milliseconds(...match.slice(2).map(Number))
  }
  return 0
}

/** A hash of this kind that no password has. */
export function decoyHash(kind: string): string {
  if (kind.startsWith('$2b$')) {
    // The last character has only four bits: with another one, bcrypt refuses the hash immediately.
    return `${kind}${'.'.repeat(22)}${randomBase64(24).replaceAll('+', '.').slice(0, 30)}.`
  }
  const digest = /^\$pbkdf2-(\w+)\$/.exec(kind)?.[1] as keyof typeof DIGEST_BYTES | undefined
  return `${kind}${randomBase64(16)}$${randomBase64(digest ? DIGEST_BYTES[digest] : 32)}`
}

function randomBase64(bytes: number): string {
  return base64(randomBytes(bytes))
}

function decode(text: string): Buffer {
  return Buffer.from(text, 'base64')
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64').replace(/=+$/, '')
}
