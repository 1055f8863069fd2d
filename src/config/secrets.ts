import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { calculateJwkThumbprint, importJWK, type JWK } from 'jose'
import { makeKeyPair, type StoredText } from '../lib/crypto/key-ring.ts'
import { makeFolder, writeDurably } from '../lib/files/durable-file.ts'
import { isExposed } from '../lib/files/file-exposure.ts'
import { ConfigError } from './config.ts'

/** Keys that are generated on the first start and stored where only this user can read them. */
export type Secrets = {
  /** The keys that sign access tokens, which rotate: see `lib/crypto/key-ring.ts`. */
  accessTokenKeys: StoredText
  /** Derives the successor of a refresh token. */
  refreshKey: Buffer
  /** Signs the URLs of private files. */
  fileUrlKey: Buffer
  /** Encrypts sensitive values in the database: two-factor secrets, unsent e-mails. */
  sealKey: Buffer
  /** Hashes recovery codes, which are too short for an unkeyed hash. */
  recoveryKey: Buffer
  /** The keys for payload encryption, which rotate: see `lib/crypto/key-ring.ts`. */
  encryptionKeys: StoredText
  /** Derives the pseudonyms that replace deleted users in the billing log. */
  pseudonymKey: Buffer
  /** Which object store the database uses: see `attachments/storage/store-owner.ts`. */
  storeClaim: StoredText
}

/** The name of `storeClaim`. It belongs to a database in its place, so no backup contains it. */
export const STORE_CLAIM = 'store-claim.json'

type SecretFile = {
  /** A database with this many migrations always has the secret. */
  since: number
  /** What stops working when it is replaced. */
  breaks: string
  isValid: (content: string) => Promise<boolean>
}

const FILES = {
  'access-token.jwk': {
    since: 1,
    breaks: 'access tokens become invalid immediately, and apps refresh them',
    isValid: async (content) => areKeyPairs(JSON.parse(content)),
  },
  'refresh-token.key': symmetric(1, 'devices that lost a refresh response must sign in again'),
  'file-url.key': symmetric(1, 'URLs of private files become invalid'),
  'seal.key': symmetric(
    2,
    'authenticator app codes, unsent e-mails, Apple grants, purchase tokens and webhook secrets are lost',
  ),
  'recovery-code.key': symmetric(2, 'recovery codes become invalid'),
  'pseudonym.key': symmetric(2, 'late billing events of deleted users are not recognized'),
  'encryption-keys.json': {
    since: 5,
    breaks: 'apps that pin the old payload keys cannot communicate with this server',
    isValid: async (content) => areKeyPairs(JSON.parse(content)),
  },
} satisfies Record<string, SecretFile>

export type SecretName = keyof typeof FILES

export const SECRET_NAMES = Object.keys(FILES) as SecretName[]

/** Throws `ConfigError` for a secret that is damaged, readable by others, or missing although the database needs it. */
export async function checkSecrets(folder: string, schemaVersion: number) {
  await requireReadable(folder)
  const damaged: string[] = []
  const exposed: string[] = []
  if (await isExposedAt(folder, 0o022)) exposed.push('the folder itself')
  const check = async (name: SecretName) => ({
    name,
    fault: await describeProblem(folder, name, schemaVersion),
    isExposedFile: await isExposedAt(join(folder, name), 0o077),
  })
  for (const { name, fault, isExposedFile } of await Promise.all(SECRET_NAMES.map(check))) {
    if (fault !== null) damaged.push(`${name} ${fault}`)
    else if (isExposedFile) exposed.push(name)
  }
  if (damaged.length > 0) {
    throw new ConfigError(
      `In ${folder}, ${damaged.join(', ')}: restore the folder from a backup, or run "homeport init --new-secrets", which reports what stops working.`,
    )
  }
  if (exposed.length > 0) {
    throw new ConfigError(
      `In ${folder}, other users have access to ${exposed.join(', ')}: run "chmod -R go= ${folder}", and replace the secrets that may have been read.`,
    )
  }
}

/** Throws for secrets that this user cannot read: they may be intact, and must not be replaced. */
async function requireReadable(folder: string) {
  for (const name of SECRET_NAMES) {
    try {
      await readFile(join(folder, name))
    } catch (error) {
      const { code } = error as { code?: string }
      if (code === 'ENOENT') continue
      const advice =
        code === 'EACCES' ? 'give the folder to the user that runs homeport' : 'check its disk'
      throw new ConfigError(`${join(folder, name)} cannot be read (${code}): ${advice}.`)
    }
  }
}

/** Removes damaged but readable secrets. Returns what stops working once they and the missing ones are replaced. */
export async function discardDamagedSecrets(folder: string, schemaVersion: number) {
  await requireReadable(folder)
  const lost: { name: SecretName; breaks: string }[] = []
  for (const name of SECRET_NAMES) {
    if ((await describeProblem(folder, name, schemaVersion)) === null) continue
    await rm(join(folder, name), { force: true })
    lost.push({ name, breaks: FILES[name].breaks })
  }
  return lost
}

/** Loads the secrets from `secretStore` and creates missing ones. Call `checkSecrets` first. */
export async function loadSecrets(
  secretStore: (name: SecretName) => StoredText,
  storeClaim: StoredText,
): Promise<Secrets> {
  const accessTokenKeys = secretStore('access-token.jwk')
  const encryptionKeys = secretStore('encryption-keys.json')
  await accessTokenKeys.readOrCreate(makeKeyPair)
  await encryptionKeys.readOrCreate(makeKeyPair)
  return {
    accessTokenKeys,
    encryptionKeys,
    refreshKey: await symmetricKey(secretStore('refresh-token.key')),
    fileUrlKey: await symmetricKey(secretStore('file-url.key')),
    sealKey: await symmetricKey(secretStore('seal.key')),
    recoveryKey: await symmetricKey(secretStore('recovery-code.key')),
    pseudonymKey: await symmetricKey(secretStore('pseudonym.key')),
    storeClaim,
  }
}

/** A secret in a file of `folder`, for a single process. */
export function secretFile(folder: string, name: SecretName | typeof STORE_CLAIM): StoredText {
  const path = join(folder, name)
  return {
    async readOrCreate(make) {
      await makeFolder(folder)
      if (!existsSync(path)) await writeDurably(path, await make(), 0o600)
      return readFile(path, 'utf8')
    },
    replace: (text) => writeDurably(path, text, 0o600),
    watch() {},
  }
}

async function symmetricKey({ readOrCreate }: StoredText): Promise<Buffer> {
  const hex = await readOrCreate(async () => randomBytes(32).toString('hex'))
  return Buffer.from(hex.trim(), 'hex')
}

/** What is wrong with a secret, without revealing it; null when it is valid. */
async function describeProblem(folder: string, name: SecretName, schemaVersion: number) {
  const { since, isValid }: SecretFile = FILES[name]
  if (!existsSync(join(folder, name))) return schemaVersion >= since ? 'is missing' : null
  const content = await readFile(join(folder, name), 'utf8')
  if (content.trim() === '') return 'is empty'
  return (await isValid(content).catch(() => false)) ? null : 'is damaged'
}

async function isExposedAt(path: string, bits: number): Promise<boolean> {
  const found = await stat(path).catch(() => null)
  return found !== null && isExposed(found, bits)
}

function symmetric(since: number, breaks: string): SecretFile {
  return { since, breaks, isValid: async (content) => /^[0-9a-f]{64}$/i.test(content.trim()) }
}

async function isKeyPair(jwk: JWK): Promise<boolean> {
  const isComplete = [jwk.d, jwk.x, jwk.y].every((part) => /^[\w-]{43}$/.test(part ?? ''))
  if (jwk.crv !== 'P-256' || !isComplete) return false
  await importJWK(jwk, 'ES256')
  return jwk.kid === (await calculateJwkThumbprint(jwk))
}

/** A key ring with validity times, or a single key as stored by the first versions. */
async function areKeyPairs(keys: JWK | { jwk: JWK; from: unknown; until: unknown }[]) {
  if (!Array.isArray(keys)) return isKeyPair(keys)
  const results = await Promise.all(
    keys.map(async ({ jwk, from, until }) => {
      const hasValidPeriod = Number.isFinite(from) && (until === null || Number.isFinite(until))
      return hasValidPeriod && (await isKeyPair(jwk))
    }),
  )
  return results.length > 0 && !results.includes(false)
}
