import type { Run } from '../compiled-query.ts'
import { CACHE_LIFETIME_MS, type Cached, type Reader, type Tx } from '../db.ts'

const BUMP = `INSERT INTO shared_versions (name, version) VALUES ($1, 1)
ON CONFLICT (name) DO UPDATE SET version = shared_versions.version + 1`

/** Values that each instance caches until any instance changes them; the database counts the changes to each value. */
export function createSharedCache(reader: Reader, { read, change }: { read: Run; change: Run }) {
  let versions = new Map<unknown, unknown>()
  let checkedAt = Number.NEGATIVE_INFINITY
  let checking: Promise<void> | null = null
  let ownChanges = 0
  return { cached }

  function cached<T>(name: string, load: (from: Reader) => Promise<T>): Cached<T> {
    let current: { version: unknown; value: Promise<T> } | null = null
    return { read: readCached, readWithin: load, invalidate }

    function readCached(): Promise<T> {
      if (areVersionsFresh()) return valueAt(versions.get(name))
      return refreshVersions().then(() => valueAt(versions.get(name)))
    }

    function valueAt(version: unknown): Promise<T> {
      if (current?.version === version && current) return current.value
      const loading = { version, value: load(reader) }
      current = loading
      loading.value.catch(() => {
        if (current === loading) current = null
      })
      return loading.value
    }

    async function invalidate(tx: Tx) {
      await change(BUMP, [name])
      tx.afterCommit(() => {
        ownChanges++
        checkedAt = Number.NEGATIVE_INFINITY
      })
    }
  }

  function areVersionsFresh(at = performance.now()): boolean {
    return at - checkedAt < CACHE_LIFETIME_MS
  }

  /** Callers share one check, but not one that began before our own change. Its result is as old as its start. */
  async function refreshVersions() {
    const calledAt = performance.now()
    while (!areVersionsFresh(calledAt)) {
      checking ??= check().finally(() => {
        checking = null
      })
      await checking
    }
  }

  async function check() {
    const startedAt = performance.now()
    const before = ownChanges
    try {
      const rows = await read('SELECT name, version FROM shared_versions', [])
      versions = new Map(rows.map(([name, version]) => [name, version]))
    } catch (error) {
      // While the server is down, the last known versions are used.
      if (!Number.isFinite(checkedAt)) throw error
      checkedAt = performance.now()
      return
    }
    if (ownChanges === before) checkedAt = startedAt
  }
}
