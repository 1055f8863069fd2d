import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import { makeFolder, writeDurably } from './lib/durable-file.ts'

/** Keys that nobody sets: made on the first start, kept in `DATA_DIR/secrets`, readable by us alone. */
export type Secrets = {
  /** P-256 private key that signs access tokens; its `kid` is the RFC 7638 thumbprint. */
  accessTokenKey: JWK & { kid: string }
  /** Derives the successor of a refresh token. */
  refreshKey: Buffer
  /** Signs the URLs of private files. */
  fileUrlKey: Buffer
  /** Seals what must not be readable in the database: two-factor secrets, mails not yet sent. */
  sealKey: Buffer
  /** Hashes recovery codes, which are too short for a hash without a key. */
  recoveryKey: Buffer
  /** The file of the keys that payloads are sealed for: they come and go, see `http/encryption-keys.ts`. */
  encryptionKeys: string
  /** Makes the pseudonyms that stand for deleted people in the billing log. */
  pseudonymKey: Buffer
}

export async function loadSecrets(folder: string): Promise<Secrets> {
  await makeFolder(folder)
  return {
    accessTokenKey: JSON.parse(await keep(folder, 'access-token.jwk', makeSigningKey)),
    refreshKey: await symmetricKey(folder, 'refresh-token.key'),
    fileUrlKey: await symmetricKey(folder, 'file-url.key'),
    sealKey: await symmetricKey(folder, 'seal.key'),
    recoveryKey: await symmetricKey(folder, 'recovery-code.key'),
    encryptionKeys: join(folder, 'encryption-keys.json'),
    pseudonymKey: await symmetricKey(folder, 'pseudonym.key'),
  }
}

async function symmetricKey(folder: string, name: string): Promise<Buffer> {
  const hex = await keep(folder, name, async () => randomBytes(32).toString('hex'))
  return Buffer.from(hex.trim(), 'hex')
}

async function keep(folder: string, name: string, make: () => Promise<string>): Promise<string> {
  const path = join(folder, name)
  if (!existsSync(path)) await writeDurably(path, await make(), 0o600)
  return readFile(path, 'utf8')
}

async function makeSigningKey(): Promise<string> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(privateKey)
  return JSON.stringify({ ...jwk, kid: await calculateJwkThumbprint(jwk) })
}
