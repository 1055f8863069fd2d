import { hkdfSync, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { hmac } from '../../lib/crypto/hash.ts'
import { writeDurably } from '../../lib/files/durable-file.ts'

/** A key that only this installation has: its signature proves that a backup was written here. The `id` is public. */
export type InstallationKey = { id: string; sign: (text: string) => string }

/** The keys of this installation, which no backup contains: the one in its data directory, and `SECRET_KEY`. */
export async function installationKeys(config: Config): Promise<InstallationKey[]> {
  const storedKey = await readFile(keyPath(config), 'utf8').catch(() => '')
  const texts = [/^[0-9a-f]{64}$/.test(storedKey) ? storedKey : null, config.secretKey]
  return texts.filter((text) => text !== null).map(keyFrom)
}

/** Creates the key in the data directory if it is missing. */
export async function ensureInstallationKey(config: Config) {
  const { length } = await installationKeys({ ...config, secretKey: null })
  if (length === 0) await writeDurably(keyPath(config), randomBytes(32).toString('hex'))
}

function keyFrom(text: string): InstallationKey {
  const key = Buffer.from(hkdfSync('sha256', text, '', 'homeport backup', 32))
  return { id: hmac(key, 'id').slice(0, 16), sign: (text) => hmac(key, text) }
}

function keyPath({ dataDir }: Config): string {
  return join(dataDir, 'installation.key')
}
