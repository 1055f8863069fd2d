import type { StoredText } from '../../../lib/crypto/key-ring.ts'
import { seal, unseal } from '../../../lib/crypto/seal.ts'
import { AppError } from '../../../lib/errors.ts'
import { DatabaseRefusal } from './errors.ts'
import type { Pool } from './pool.ts'

const WATCH_INTERVAL_MS = 1000
const FIND = 'SELECT content, version FROM shared_secrets WHERE name = $1'
const ADD = 'INSERT INTO shared_secrets (name, content) VALUES ($1, $2) ON CONFLICT DO NOTHING'
const REPLACE = `UPDATE shared_secrets SET content = $2, version = version + 1
WHERE name = $1 AND version = $3 RETURNING version`

type Secret = { text: string; version: number }

/** Stores secrets, sealed with `key`. */
export function createSharedSecrets(pool: Pool, key: Uint8Array) {
  /** The version of each secret that this instance last read or wrote. */
  const versions = new Map<string, number>()
  const watchers = new Map<string, (text: string) => void>()
  const timer = setInterval(() => void checkForChanges().catch(() => {}), WATCH_INTERVAL_MS)
  timer.unref()
  return { secretStore, stop: () => clearInterval(timer) }

  function secretStore(name: string): StoredText {
    return {
      async readOrCreate(make) {
        const found = (await find(name)) ?? (await add(name, await make()))
        return remember(name, found)
      },
      async replace(text) {
        const [row] = await pool.read(REPLACE, [name, seal(key, text), versions.get(name)])
        // No row: another instance was first, or the response to our own change was lost.
        const kept = row ? { text, version: Number(row[0]) } : await find(name)
        if (kept?.text !== text)
          throw new AppError('conflict', 'Another instance has just changed the keys. Try again.')
        remember(name, kept)
      },
      watch: (onChange) => void watchers.set(name, onChange),
    }
  }

  function remember(name: string, { text, version }: Secret): string {
    versions.set(name, version)
    return text
  }

  async function find(name: string): Promise<Secret | null> {
    const [row] = await pool.read(FIND, [name])
    return row ? { text: unsealOrRefuse(row[0] as string), version: Number(row[1]) } : null
  }

  /** Two instances may start at once: both use the secret of the first. */
  async function add(name: string, text: string): Promise<Secret> {
    await pool.read(ADD, [name, seal(key, text)])
    return (await find(name)) as Secret
  }

  async function checkForChanges() {
    if (watchers.size === 0) return
    const rows = await pool.read('SELECT name, version FROM shared_secrets', [])
    for (const [name, version] of rows as [string, string][]) {
      const onChange = watchers.get(name)
      if (!onChange || Number(version) <= knownVersion(name)) continue
      const found = await find(name)
      // This instance may have changed it in the meantime.
      if (found && found.version > knownVersion(name)) onChange(remember(name, found))
    }
  }

  function knownVersion(name: string): number {
    return versions.get(name) ?? 0
  }

  function unsealOrRefuse(content: string): string {
    try {
      return unseal(key, content)
    } catch (cause) {
      throw new DatabaseRefusal(
        'SECRET_KEY is not the one that this database was set up with: use the same key on every instance.',
        { cause },
      )
    }
  }
}
