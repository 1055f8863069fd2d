import { AppError } from '../../lib/errors.ts'
import type { KeptText } from '../../lib/key-ring.ts'
import { seal, unseal } from '../../lib/seal.ts'
import { DatabaseRefusal } from './migrate.ts'
import type { Pool } from './pool.ts'

/** How soon an instance learns of what another one has changed, in ms. */
const WATCH_EVERY = 1000

type Watched = { version: number; changed: (text: string) => void }

/** Secrets in the database, sealed by `key`: every instance has the same. */
export function createSharedSecrets(pool: Pool, key: Uint8Array) {
  const watched = new Map<string, Watched>()
  const timer = setInterval(() => void look().catch(() => {}), WATCH_EVERY)
  timer.unref()
  return { keep, stop: () => clearInterval(timer) }

  function keep(name: string): KeptText {
    let known = 0
    return {
      async readOrMake(make) {
        const row = (await find(name)) ?? (await add(name, await make()))
        known = row.version
        return row.text
      },
      async replace(text) {
        const [row] = await pool.read(
          'UPDATE shared_secrets SET content = $2, version = version + 1 WHERE name = $1 AND version = $3 RETURNING version',
          [name, seal(key, text), known],
        )
        // Without a row somebody else was first, or the answer to our own change was lost.
        const kept = row ? { text, version: Number(row[0]) } : await find(name)
        if (kept?.text !== text)
          throw new AppError('conflict', 'Another instance has just changed the keys.')
        known = kept.version
        const own = watched.get(name)
        if (own) own.version = known
      },
      watch(changed) {
        watched.set(name, {
          version: known,
          changed(text) {
            known = watched.get(name)?.version ?? known
            changed(text)
          },
        })
      },
    }
  }

  async function find(name: string) {
    const [row] = await pool.read('SELECT content, version FROM shared_secrets WHERE name = $1', [
      name,
    ])
    return row ? { text: opened(row[0] as string), version: Number(row[1]) } : null
  }

  /** Two instances may start at once: the first one's secret is everybody's. */
  async function add(name: string, text: string) {
    await pool.read(
      'INSERT INTO shared_secrets (name, content) VALUES ($1, $2) ON CONFLICT DO NOTHING',
      [name, seal(key, text)],
    )
    return (await find(name)) as { text: string; version: number }
  }

  async function look() {
    if (watched.size === 0) return
    for (const [name, version] of await pool.read('SELECT name, version FROM shared_secrets', [])) {
      const one = watched.get(name as string)
      if (!one || one.version === Number(version)) continue
      const found = await find(name as string)
      if (!found) continue
      one.version = found.version
      one.changed(found.text)
    }
  }

  function opened(content: string): string {
    try {
      return unseal(key, content)
    } catch (cause) {
      throw new DatabaseRefusal(
        'SECRET_KEY is not the one that this database was set up with: take the same for every instance.',
        { cause },
      )
    }
  }
}
