import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import { ConfigError } from './config.ts'
import { makeFolder, writeDurably } from './lib/durable-file.ts'
import type { KeptText } from './lib/key-ring.ts'

/** Keys that nobody sets: made on the first start, kept where only we can read them. */
export type Secrets = {
  /** The keys that sign access tokens: they come and go, see `lib/key-ring.ts`. */
  accessTokenKeys: KeptText
  /** Derives the successor of a refresh token. */
  refreshKey: Buffer
  /** Signs the URLs of private files. */
  fileUrlKey: Buffer
  /** Seals what must not be readable in the database: two-factor secrets, mails not yet sent. */
  sealKey: Buffer
  /** Hashes recovery codes, which are too short for a hash without a key. */
  recoveryKey: Buffer
  /** The keys that payloads are sealed for: they come and go, see `lib/key-ring.ts`. */
  encryptionKeys: KeptText
  /** Makes the pseudonyms that stand for deleted people in the billing log. */
  pseudonymKey: Buffer
}

type SecretFile = {
  /** A database that has had so many migrations was never without it. */
  since: number
  /** What stops working when it is replaced by a new one. */
  breaks: string
  isGood: (content: string) => Promise<boolean>
}

const FILES = {
  'access-token.jwk': {
    since: 1,
    breaks: 'access tokens end at once, and apps refresh them',
    isGood: async (content) => areKeyPairs(JSON.parse(content)),
  },
  'refresh-token.key': symmetric(1, 'phones that lost the reply to a refresh sign in again'),
  'file-url.key': symmetric(1, 'addresses of private files that were given out end'),
  'seal.key': symmetric(2, 'codes of authenticator apps, mails not yet sent and grants of Apple'),
  'recovery-code.key': symmetric(2, 'recovery codes are void'),
  'pseudonym.key': symmetric(2, 'late billing events of deleted people are not recognised'),
  'encryption-keys.json': {
    since: 5,
    breaks: 'apps that pin the old keys for payloads cannot talk to this server',
    isGood: async (content) => areKeyPairs(JSON.parse(content)),
  },
} satisfies Record<string, SecretFile>

export type SecretName = keyof typeof FILES

export const SECRET_NAMES = Object.keys(FILES) as SecretName[]

/**
 * Throws `ConfigError` when a secret in `folder` is damaged or open to others, or missing although a
 * database of `schemaVersion` migrations was in use with it.
 */
export async function checkSecrets(folder: string, schemaVersion: number) {
  const damaged: string[] = []
  const open: string[] = []
  if (await isOpen(folder, 0o022)) open.push('the folder itself')
  const check = async (name: SecretName) => ({
    name,
    fault: await faultOf(folder, name, schemaVersion),
    isOpen: await isOpen(join(folder, name), 0o077),
  })
  for (const { name, fault, isOpen } of await Promise.all(SECRET_NAMES.map(check))) {
    if (fault !== null) damaged.push(`${name} ${fault}`)
    else if (isOpen) open.push(name)
  }
  if (damaged.length > 0) {
    throw new ConfigError(
      `In ${folder} ${damaged.join(', ')}: restore the folder from a backup, or run "homeport init --new-secrets", which says what new ones break.`,
    )
  }
  if (open.length > 0) {
    throw new ConfigError(
      `In ${folder} other users have access to ${open.join(', ')}: run "chmod -R go= ${folder}", and replace what somebody may have read.`,
    )
  }
}

/** Removes secrets that are damaged and returns what the new ones in their place, and in that of missing ones, break. */
export async function discardBadSecrets(folder: string, schemaVersion: number) {
  const lost: { name: SecretName; breaks: string }[] = []
  for (const name of SECRET_NAMES) {
    if ((await faultOf(folder, name, schemaVersion)) === null) continue
    await rm(join(folder, name), { force: true })
    lost.push({ name, breaks: FILES[name].breaks })
  }
  return lost
}

/** The secrets that `keep` keeps under their names; what is missing is made. Check them before. */
export async function loadSecrets(keep: (name: SecretName) => KeptText): Promise<Secrets> {
  const accessTokenKeys = keep('access-token.jwk')
  await accessTokenKeys.readOrMake(makeSigningKey)
  return {
    accessTokenKeys,
    refreshKey: await symmetricKey(keep('refresh-token.key')),
    fileUrlKey: await symmetricKey(keep('file-url.key')),
    sealKey: await symmetricKey(keep('seal.key')),
    recoveryKey: await symmetricKey(keep('recovery-code.key')),
    encryptionKeys: keep('encryption-keys.json'),
    pseudonymKey: await symmetricKey(keep('pseudonym.key')),
  }
}

/** A secret in a file of `folder`, which one process alone uses. */
export function secretFile(folder: string, name: SecretName): KeptText {
  const path = join(folder, name)
  return {
    async readOrMake(make) {
      await makeFolder(folder)
      if (!existsSync(path)) await writeDurably(path, await make(), 0o600)
      return readFile(path, 'utf8')
    },
    replace: (text) => writeDurably(path, text, 0o600),
    watch() {},
  }
}

async function symmetricKey({ readOrMake }: KeptText): Promise<Buffer> {
  const hex = await readOrMake(async () => randomBytes(32).toString('hex'))
  return Buffer.from(hex.trim(), 'hex')
}

/** Until it is rotated it is kept alone, so that tools that know the first versions can read it. */
async function makeSigningKey(): Promise<string> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(privateKey)
  return JSON.stringify({ ...jwk, kid: await calculateJwkThumbprint(jwk) })
}

/** What is wrong with a secret, never what is in it. */
async function faultOf(folder: string, name: SecretName, schemaVersion: number) {
  const { since, isGood }: SecretFile = FILES[name]
  let content: string
  try {
    content = await readFile(join(folder, name), 'utf8')
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'EACCES') return 'belongs to another user (chown it to the one that runs homeport)'
    if (code !== 'ENOENT') return `cannot be read (${code})`
    return schemaVersion >= since ? 'is missing' : null
  }
  if (content.trim() === '') return 'is empty'
  return (await isGood(content).catch(() => false)) ? null : 'is damaged'
}

async function isOpen(path: string, bits: number): Promise<boolean> {
  const found = await stat(path).catch(() => null)
  return found !== null && (found.mode & bits) !== 0
}

function symmetric(since: number, breaks: string): SecretFile {
  return { since, breaks, isGood: async (content) => /^[0-9a-f]{64}$/i.test(content.trim()) }
}

async function isKeyPair(jwk: JWK): Promise<boolean> {
  const isComplete = [jwk.d, jwk.x, jwk.y].every((part) => /^[\w-]{43}$/.test(part ?? ''))
  if (jwk.crv !== 'P-256' || !isComplete) return false
  await importJWK(jwk, 'ES256')
  return jwk.kid === (await calculateJwkThumbprint(jwk))
}

/** A ring of keys with their times, or a single key as the first versions kept it. */
async function areKeyPairs(keys: JWK | { jwk: JWK; from: unknown; until: unknown }[]) {
  if (!Array.isArray(keys)) return isKeyPair(keys)
  const good = await Promise.all(
    keys.map(async ({ jwk, from, until }) => {
      const isTimed = Number.isFinite(from) && (until === null || Number.isFinite(until))
      return isTimed && (await isKeyPair(jwk))
    }),
  )
  return good.length > 0 && !good.includes(false)
}
