import { asc, gt, inArray } from 'drizzle-orm'
import { hasReplacedData, KEPT_MS } from '../../../lib/files/replaced-data.ts'
import type { Log } from '../../../lib/log/log.ts'
import { HOUR_MS } from '../../../lib/time/durations.ts'
import { toOriginalKey } from '../images/variants.ts'
import type { AttachmentsDb } from '../schema.ts'
import type { Files } from './files.ts'

export type Orphans = ReturnType<typeof createOrphans>

const PAGE_SIZE = 1_000
const VARIANTS_PER_QUERY = 500

/** A run deletes at most this share of all files, but may always delete this number. */
const MAX_SHARE = 0.01
const MIN_DELETIONS = 10
/** A run ends after this many failed deletions, because a store may refuse them all. */
const MAX_FAILURES = 100

/** Deletes files and cached copies without a row, and logs rows without a file as errors. */
export function createOrphans(deps: {
  db: AttachmentsDb
  files: Files
  /** Whether files without a row may be deleted. */
  beginSweep: () => Promise<boolean>
  isBeingStored: (key: string) => boolean
  config: { dataDir: string }
  now: () => Date
  log: Log
}) {
  const { db, files, isBeingStored, config, now, log } = deps
  const { attachments, variants } = db.tables
  const keysWithRow = createRowSearch(db)
  let deleted = 0
  let undeletable = new Set<string>()
  return {
    collect,
    collectCopies,
    countDeleted: () => deleted,
    countUndeletable: () => undeletable.size,
  }

  /** Walks through the files and the rows side by side; both are sorted by key. */
  async function collect(signal: AbortSignal) {
    // A database that was moved aside, or replaced by a restore, may still have rows for files without one here.
    const restoredAt = (await files.restoredAt())?.getTime() ?? 0
    const keepsFiles =
      now().getTime() - restoredAt < KEPT_MS || (await hasReplacedData(config.dataDir, now()))
    const mayDelete = await deps.beginSweep()
    const orphans: string[] = []
    let total = 0
    const keys = sortedKeys()
    let row = await keys.next()
    let foundKey: string | null = null
    let foundVariants: string[] = []
    for await (const { key, storedAt } of files.list()) {
      if (signal.aborted) return
      total++
      const original = toOriginalKey(key)
      while (row.value !== undefined && row.value < original) {
        if (row.value !== foundKey) await reportMissing(row.value)
        row = await keys.next()
      }
      const isOld = now().getTime() - storedAt.getTime() > HOUR_MS
      if (row.value === original) {
        if (key === original) foundKey = original
        else if (isOld) foundVariants.push(key)
      } else if (isOld && !keepsFiles) await addOrphan(key, orphans)
      if (foundVariants.length >= VARIANTS_PER_QUERY) {
        orphans.push(...(await findVariantsWithoutRow(foundVariants)))
        foundVariants = []
      }
    }
    orphans.push(...(await findVariantsWithoutRow(foundVariants)))
    for (; row.value !== undefined; row = await keys.next()) {
      if (signal.aborted) return
      if (row.value !== foundKey) await reportMissing(row.value)
    }
    if (mayDelete) await removeOrphans(orphans, Math.max(MIN_DELETIONS, total * MAX_SHARE), signal)
  }

  /** Files that could not be deleted must not block the rest, so the next run tries them last. */
  async function removeOrphans(keys: string[], limit: number, signal: AbortSignal) {
    const before = deleted
    let failed = 0
    const others = keys.filter((key) => !undeletable.has(key))
    const known = keys.filter((key) => undeletable.has(key))
    undeletable = new Set(known)
    for (const key of [...others, ...known]) {
      if (signal.aborted || deleted - before >= limit || failed >= MAX_FAILURES) break
      if (isBeingStored(toOriginalKey(key))) continue
      try {
        await files.remove(key)
        deleted++
        undeletable.delete(key)
        log.info({ key }, 'deleted a file without a row')
      } catch (err) {
        failed++
        undeletable.add(key)
        log.warn({ err, key }, 'a file without a row cannot be deleted')
      }
    }
    const left = keys.length - (deleted - before)
    if (left > 0) log.warn({ deleted: deleted - before, left }, 'some files without a row are kept')
  }

  /** Checks again: after a jump of the clock, a new file looks old, and its row may be new or about to be inserted. */
  async function addOrphan(key: string, orphans: string[]) {
    const original = toOriginalKey(key)
    if (isBeingStored(original) || (await keysWithRow([original])).size > 0) return
    orphans.push(key)
  }

  /** For variants whose originals still exist. A deleted variant is made again when needed. */
  async function findVariantsWithoutRow(keys: string[]): Promise<string[]> {
    const rows = await db.read
      .select({ key: variants.key })
      .from(variants)
      .where(inArray(variants.key, keys))
    const withRow = new Set(rows.map(({ key }) => key))
    return keys.filter((key) => !withRow.has(key))
  }

  /** Deletes cached copies of files that another instance has deleted. */
  async function collectCopies() {
    await files.sweepCopies(async (keys) => {
      const stored = await keysWithRow([...new Set(keys.map(toOriginalKey))])
      return new Set(keys.filter((key) => stored.has(toOriginalKey(key))))
    })
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

/** Returns a function that finds which of some keys have a row. */
export function createRowSearch({ read, tables: { attachments } }: AttachmentsDb) {
  return async (keys: string[]): Promise<Set<string>> => {
    const rows = await read
      .select({ key: attachments.key })
      .from(attachments)
      .where(inArray(attachments.key, keys))
    return new Set(rows.map(({ key }) => key))
  }
}
