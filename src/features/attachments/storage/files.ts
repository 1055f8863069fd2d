import { lstatSync } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { BunFile } from 'bun'
import { makeFolder, readNames, renameDurably, syncPath } from '../../../lib/files/durable-file.ts'

/** On the local disk or S3. */
export type Files = {
  /** Stores a temporary file under its key. Afterwards its content and name survive a power failure. */
  keep: (temporaryPath: string, key: string) => Promise<void>
  /** `size` is in bytes. Null if there is no such file. */
  open: (key: string) => Promise<{ file: BunFile; size: number } | null>
  remove: (key: string) => Promise<void>
  /** For a backup: removed files are only hidden for `ms`; 0 ends this and deletes them. */
  holdRemovals: (ms: number) => Promise<void>
  /** All stored files, sorted by key. */
  list: () => AsyncIterable<{ key: string; storedAt: Date }>
  /** Deletes cached copies that `filterStored` omits because another instance removed the files; all on a local disk. */
  sweepCopies: (filterStored: (keys: string[]) => Promise<Set<string>>) => Promise<void>
  /** For a restore into a database server: files newer than the backup may have rows only in the old database. */
  recordRestore: () => Promise<void>
  restoredAt: () => Promise<Date | null>
  /** Throws `unavailable` unless files can be read and stored. */
  probe: () => Promise<void>
}

/** Marks when a backup was restored: a file beside the folders of files, or an object. */
export const RESTORED = 'restored'
/** In the folder of the files: copies of those that are in an object store. */
export const CACHE_FOLDER = 'cache'
/** The size limit of uploads and variants. */
export const MAX_FILE_BYTES = 25 * 1024 * 1024
/** How long a response may take to open its file, even on a busy machine. It can read an open file to the end. */
const READ_START_DELAY_MS = 100

/** Files on the local disk, in folders by the first letter of the key. */
export function createFiles(folder: string): Files {
  const hidden = new Set<string>()
  const deletions = new Map<string, Promise<void>>()
  const opened = createRecentKeys(READ_START_DELAY_MS)
  let heldUntil = 0
  const nothing = async () => {}
  return {
    keep,
    open,
    remove,
    holdRemovals,
    list,
    sweepCopies,
    probe: nothing,
    recordRestore,
    restoredAt,
  }

  async function keep(temporaryPath: string, key: string) {
    const path = toPath(key)
    await syncPath(temporaryPath)
    await makeFolder(dirname(path))
    // A variant that is being removed may be made again.
    hidden.delete(key)
    await deletions.get(key)?.catch(() => {})
    await renameDurably(temporaryPath, path)
  }

  /** Does not follow symbolic links. Synchronous, because an asynchronous call costs ten times as much. */
  async function open(key: string) {
    if (hidden.has(key)) return null
    const path = toPath(key)
    const stats = lstatSync(path, { throwIfNoEntry: false })
    opened.add(key)
    return stats?.isFile() ? { file: Bun.file(path), size: stats.size } : null
  }

  async function remove(key: string) {
    hidden.add(key)
    if (Date.now() < heldUntil) return
    if (opened.has(key)) await Bun.sleep(READ_START_DELAY_MS)
    // A variant may have been made again.
    if (!hidden.has(key)) return
    await deleteFile(key)
  }

  async function deleteFile(key: string) {
    const deletion = rm(toPath(key), { force: true }).finally(() => deletions.delete(key))
    deletions.set(key, deletion)
    await deletion
    hidden.delete(key)
  }

  /** If the process dies, hidden files are deleted later as orphans. */
  async function holdRemovals(ms: number) {
    heldUntil = Date.now() + ms
    if (ms === 0) await removeHidden()
    else setTimeout(removeHidden, ms).unref()
  }

  /** If the disk fails, the remaining files are deleted later as orphans. */
  async function removeHidden() {
    if (Date.now() < heldUntil) return
    try {
      for (const key of hidden) await deleteFile(key)
    } catch {}
  }

  async function* list() {
    for (const prefix of await readNames(folder)) {
      // Longer names are working folders.
      if (prefix.length !== 1) continue
      for (const key of await readNames(join(folder, prefix))) {
        const stats = await stat(toPath(key)).catch(() => null)
        if (stats) yield { key, storedAt: stats.mtime }
      }
    }
  }

  async function recordRestore() {
    await makeFolder(folder)
    await Bun.write(join(folder, RESTORED), '')
  }

  async function restoredAt() {
    const stats = await stat(join(folder, RESTORED)).catch(() => null)
    return stats?.mtime ?? null
  }

  /** Deletes the cache of an object store that was used before. */
  async function sweepCopies() {
    await rm(join(folder, CACHE_FOLDER), { recursive: true, force: true })
  }

  function toPath(key: string): string {
    return join(folder, key.slice(0, 1), key)
  }
}

/** Remembers keys for at least `ms`, in two generations. */
function createRecentKeys(ms: number) {
  let [older, newer] = [new Set<string>(), new Set<string>()]
  let startedAt = 0
  return { add, has }

  function add(key: string) {
    age()
    newer.add(key)
  }

  function has(key: string): boolean {
    age()
    return newer.has(key) || older.has(key)
  }

  function age() {
    const elapsed = performance.now() - startedAt
    if (elapsed < ms) return
    older = elapsed < 2 * ms ? newer : new Set()
    newer = new Set()
    startedAt += elapsed
  }
}
