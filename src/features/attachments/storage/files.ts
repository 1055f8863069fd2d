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
  /** The keys of files that were stored over an hour ago. */
  oldKeys: (now: Date) => AsyncIterable<string>
}

const HOUR_MS = 60 * 60 * 1000

/** On the local disk: under `folder`, each key on the prefix of its first letter. */
export function createFiles(folder: string): Files {
  const hidden = new Set<string>()
  let heldUntil = 0
  return { keep, open, remove, holdRemovals, oldKeys }

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
    if (Date.now() < heldUntil) hidden.add(key)
    else await rm(pathOf(key), { force: true })
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

  async function* oldKeys(now: Date): AsyncGenerator<string> {
    for (const prefix of await readdir(folder).catch(() => [])) {
      if (prefix === 'tmp') continue
      for (const key of await readdir(join(folder, prefix)).catch(() => [])) {
        const found = await stat(pathOf(key)).catch(() => null)
        if (found && now.getTime() - found.mtimeMs > HOUR_MS) yield key
      }
    }
  }

  function pathOf(key: string): string {
    return join(folder, key.slice(0, 1), key)
  }
}
