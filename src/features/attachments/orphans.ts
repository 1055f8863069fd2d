import { asc, gt, inArray } from 'drizzle-orm'
import { hasDataAside, KEPT_MS } from '../../lib/data-aside.ts'
import { HOUR_MS } from '../../lib/durations.ts'
import type { Log } from '../../lib/log.ts'
import { originalOf } from './images/variants.ts'
import type { AttachmentsDb } from './schema.ts'
import type { Files } from './storage/files.ts'

export type Orphans = ReturnType<typeof createOrphans>

const PAGE_SIZE = 1_000
const VARIANTS_PER_QUERY = 500

/** Deletes files and cached copies without a row, and logs rows without a file as errors. */
export function createOrphans(deps: {
  db: AttachmentsDb
  files: Files
  isBeingStored: (key: string) => boolean
  config: { dataDir: string }
  now: () => Date
  log: Log
}) {
  const { db, files, isBeingStored, config, now, log } = deps
  const { attachments, variants } = db.tables
  return { collect, collectCopies }

  /** Walks through the files and the rows side by side; both are sorted by key. */
  async function collect(signal: AbortSignal) {
    // The database that was moved aside, or replaced by a restore, still has rows for them.
    const restoredAt = (await files.restoredAt())?.getTime() ?? 0
    const keepsFiles =
      now().getTime() - restoredAt < KEPT_MS || (await hasDataAside(config.dataDir, now()))
    const keys = sortedKeys()
    let row = await keys.next()
    let foundKey: string | null = null
    let foundVariants: string[] = []
    for await (const { key, storedAt } of files.list()) {
      if (signal.aborted) return
      const original = originalOf(key)
      while (row.value !== undefined && row.value < original) {
        if (row.value !== foundKey) await reportMissing(row.value)
        row = await keys.next()
      }
      const isOld = now().getTime() - storedAt.getTime() > HOUR_MS
      if (row.value === original) {
        if (key === original) foundKey = original
        else if (isOld) foundVariants.push(key)
      } else if (isOld && !keepsFiles) await removeOrphan(key)
      if (foundVariants.length >= VARIANTS_PER_QUERY) {
        await removeUnlistedVariants(foundVariants)
        foundVariants = []
      }
    }
    await removeUnlistedVariants(foundVariants)
    for (; row.value !== undefined; row = await keys.next()) {
      if (signal.aborted) return
      if (row.value !== foundKey) await reportMissing(row.value)
    }
  }

  /** Its age proves nothing if the clock has jumped ahead: the row may be new, or about to be inserted. */
  async function removeOrphan(key: string) {
    const original = originalOf(key)
    if (isBeingStored(original) || (await keysWithRow([original])).size > 0) return
    await files.remove(key)
  }

  /** Of images that still exist. A variant that is needed is made again. */
  async function removeUnlistedVariants(keys: string[]) {
    const rows = await db.read
      .select({ key: variants.key })
      .from(variants)
      .where(inArray(variants.key, keys))
    const listed = new Set(rows.map(({ key }) => key))
    for (const key of keys) if (!listed.has(key)) await files.remove(key)
  }

  /** Deletes cached copies of files that another instance has deleted. */
  async function collectCopies() {
    await files.sweepCopies(async (keys) => {
      const stored = await keysWithRow([...new Set(keys.map(originalOf))])
      return new Set(keys.filter((key) => stored.has(originalOf(key))))
    })
  }

  async function keysWithRow(keys: string[]): Promise<Set<string>> {
    const rows = await db.read
      .select({ key: attachments.key })
      .from(attachments)
      .where(inArray(attachments.key, keys))
    return new Set(rows.map(({ key }) => key))
  }

  /** Checks again, because the file may have been stored after the files were listed, or its row deleted. */
  async function reportMissing(key: string) {
    if ((await files.open(key)) || (await keysWithRow([key])).size === 0) return
    log.error({ key }, 'the file of an attachment is missing')
  }

  async function* sortedKeys(): AsyncGenerator<string, undefined> {
    for (let after = ''; ; ) {
      const rows = await db.read
        .select({ key: attachments.key })
        .from(attachments)
        .where(gt(attachments.key, after))
        .orderBy(asc(attachments.key))
        .limit(PAGE_SIZE)
      for (const { key } of rows) yield key
      const last = rows.at(-1)
      if (last === undefined) return
      after = last.key
    }
  }
}
