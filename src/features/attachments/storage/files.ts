import { lstatSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { BunFile } from 'bun'
import { makeFolder, renameDurably, syncPath } from '../../../lib/durable-file.ts'

/** Where attachments are kept: whatever it is, it does these things. */
export type Files = {
  /** Gives a temporary file its key. When this returns, content and name survive a power cut. */
  keep: (temporaryPath: string, key: string) => Promise<void>
  /** The file of a key with its size in bytes, or null when there is none. */
  open: (key: string) => Promise<{ file: BunFile; size: number } | null>
  remove: (key: string) => Promise<void>
  /** For so many ms from now what is removed is only hidden, for a backup; 0 ends that. */
  holdRemovals: (ms: number) => Promise<void>
  /** All that is stored, sorted by key. */
  list: () => AsyncIterable<{ key: string; storedAt: Date }>
  /** Drops copies of which `areStored` does not return the key: another instance has removed the file. */
  sweepCopies: (areStored: (keys: string[]) => Promise<Set<string>>) => Promise<void>
  /** Throws `unavailable` unless files can be read and kept. */
  probe: () => Promise<void>
}

/** Uploads and pictures made of them are no larger. */
export const MAX_FILE_BYTES = 25 * 1024 * 1024
/** Whoever has opened a file has begun to read it by then, and reads to its end, in ms. */
const READ_START_DELAY_MS = 20

/** On the local disk: under `folder`, each key on the prefix of its first letter. */
export function createFiles(folder: string): Files {
  const hidden = new Set<string>()
  let heldUntil = 0
  const nothing = async () => {}
  return { keep, open, remove, holdRemovals, list, sweepCopies: nothing, probe: nothing }

  async function keep(temporaryPath: string, key: string) {
    const path = pathOf(key)
    await syncPath(temporaryPath)
    await makeFolder(dirname(path))
    await renameDurably(temporaryPath, path)
  }

  /** A link that somebody planted is not followed. Asked synchronously: a thread costs ten times the answer. */
  async function open(key: string) {
    if (hidden.has(key)) return null
    const path = pathOf(key)
    const found = lstatSync(path, { throwIfNoEntry: false })
    return found?.isFile() ? { file: Bun.file(path), size: found.size } : null
  }

  async function remove(key: string) {
    hidden.add(key)
    if (Date.now() < heldUntil) return
    await Bun.sleep(READ_START_DELAY_MS)
    await rm(pathOf(key), { force: true })
    hidden.delete(key)
  }

  /** What is hidden when the process dies is an orphan. */
  async function holdRemovals(ms: number) {
    heldUntil = Date.now() + ms
    if (ms === 0) await removeHidden()
    else setTimeout(removeHidden, ms).unref()
  }

  async function removeHidden() {
    if (Date.now() < heldUntil) return
    for (const key of hidden) {
      await rm(pathOf(key), { force: true })
      hidden.delete(key)
    }
  }

  async function* list() {
    for (const prefix of (await readdir(folder).catch(() => [])).toSorted()) {
      // The others are for work under way.
      if (prefix.length !== 1) continue
      for (const key of (await readdir(join(folder, prefix)).catch(() => [])).toSorted()) {
        const found = await stat(pathOf(key)).catch(() => null)
        if (found) yield { key, storedAt: found.mtime }
      }
    }
  }

  function pathOf(key: string): string {
    return join(folder, key.slice(0, 1), key)
  }
}
