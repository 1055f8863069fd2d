import type { Cached, Reader, Tx } from '../db.ts'
import type { Run } from './pool.ts'

/** How long an instance relies on what it knows of the changes of others, in ms. */
const CHECK_EVERY = 1000
const BUMP = `INSERT INTO shared_versions (name, version) VALUES ($1, 1)
ON CONFLICT (name) DO UPDATE SET version = shared_versions.version + 1`

/** Values that every instance keeps until one of them changes them: a counter of each is in the database. */
export function createSharedCache(reader: Reader, { read, change }: { read: Run; change: Run }) {
  let versions = new Map<unknown, unknown>()
  let checkedAt = Number.NEGATIVE_INFINITY
  let checking: Promise<void> | null = null
  let ownChanges = 0
  return { cached }

  function cached<T>(name: string, load: (from: Reader) => Promise<T>): Cached<T> {
    let current: { version: unknown; value: Promise<T> } | null = null
    return { read: readCached, readIn: load, changed }

    function readCached(): Promise<T> {
      if (isKnown()) return valueAt(versions.get(name))
      return untilKnown().then(() => valueAt(versions.get(name)))
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

    async function changed(tx: Tx) {
      await change(BUMP, [name])
      tx.afterCommit(() => {
        ownChanges++
        checkedAt = Number.NEGATIVE_INFINITY
      })
    }
  }

  function isKnown(): boolean {
    return performance.now() - checkedAt < CHECK_EVERY
  }

  /** Asks once for all who want to know. What was asked before a change of our own does not count. */
  async function untilKnown() {
    while (!isKnown()) {
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
      // While the server is away, what was known last is better than nothing.
      if (!Number.isFinite(checkedAt)) throw error
      checkedAt = performance.now()
      return
    }
    if (ownChanges === before) checkedAt = startedAt
  }
}
