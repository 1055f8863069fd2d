import { open, readdir, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { makeFolder, renameDurably, syncPath } from '../../lib/durable-file.ts'
import { AppError } from '../../lib/errors.ts'
import { newKey } from '../../lib/ids.ts'

/** A file that has arrived but is not stored yet. `head` is its first bytes, for telling its kind. */
export type Staged = { path: string; size: number; head: Uint8Array }

export type Files = ReturnType<typeof createFiles>

const HEAD_BYTES = 4_100
/** Temporary files older than this belong to nobody, in ms. */
const ABANDONED_AFTER = 60 * 60 * 1000

/** Attachments on the local disk under `folder`: `tmp/` for what arrives, `<k>/<key>` for what is kept. */
export function createFiles(folder: string, minFreeBytes: number) {
  const temporary = join(folder, 'tmp')
  return { receive, newTemporary, keep, open: openKept, remove, oldKeys, sweep, hasSpace }

  /**
   * Streams `source` into a temporary file. Throws `tooLarge()` beyond `limit` bytes and
   * `insufficient_storage` when the disk is (nearly) full; nothing is left behind then.
   */
  async function receive(
    source: AsyncIterable<Uint8Array>,
    limit: number,
    tooLarge: () => Error,
  ): Promise<Staged> {
    await checkSpace()
    const path = await newTemporary()
    try {
      await using file = await open(path, 'wx', 0o600)
      const head: Uint8Array[] = []
      let size = 0
      for await (const chunk of source) {
        if (size < HEAD_BYTES) head.push(chunk.slice(0, HEAD_BYTES - size))
        size += chunk.byteLength
        if (size > limit) throw tooLarge()
        // writeFile on a handle goes on after a short write; a bare write would lose the rest.
        await file.writeFile(chunk)
      }
      return { path, size, head: Buffer.concat(head) }
    } catch (error) {
      await rm(path, { force: true })
      throw (error as { code?: string }).code === 'ENOSPC' ? noSpace(error) : error
    }
  }

  async function newTemporary(): Promise<string> {
    await makeFolder(temporary)
    return join(temporary, newKey())
  }

  /** Gives a temporary file its key. When this returns, content and name survive a power cut. */
  async function keep(temporaryPath: string, key: string) {
    const path = pathOf(key)
    await syncPath(temporaryPath)
    await makeFolder(dirname(path))
    await renameDurably(temporaryPath, path)
  }

  /** The file of a key with its size in bytes, or null when there is none. */
  async function openKept(key: string) {
    const path = pathOf(key)
    const found = await stat(path).catch(() => null)
    return found?.isFile() ? { file: Bun.file(path), size: found.size } : null
  }

  async function remove(key: string) {
    await rm(pathOf(key), { force: true })
  }

  /** The keys of files that were stored over an hour ago. */
  async function* oldKeys(now: Date): AsyncGenerator<string> {
    for (const shelf of await readdir(folder).catch(() => [])) {
      if (shelf === 'tmp') continue
      for (const key of await readdir(join(folder, shelf)).catch(() => [])) {
        const found = await stat(pathOf(key)).catch(() => null)
        if (found && now.getTime() - found.mtimeMs > ABANDONED_AFTER) yield key
      }
    }
  }

  /** Removes what uploads that broke off have left. */
  async function sweep(now: Date) {
    for (const name of await readdir(temporary).catch(() => [])) {
      const path = join(temporary, name)
      const found = await stat(path).catch(() => null)
      if (found && now.getTime() - found.mtimeMs > ABANDONED_AFTER) await rm(path, { force: true })
    }
  }

  function pathOf(key: string): string {
    return join(folder, key.slice(0, 1), key)
  }

  /** Whether files can be stored: the folder is there and the disk has more than its floor. */
  async function hasSpace(): Promise<boolean> {
    return checkSpace().then(
      () => true,
      () => false,
    )
  }

  async function checkSpace() {
    await makeFolder(folder)
    const { bavail, bsize } = await statfs(folder)
    if (bavail * bsize < minFreeBytes) throw noSpace()
  }
}

export function noSpace(cause?: unknown): AppError {
  return new AppError(
    'insufficient_storage',
    'The server has no space for files. Try again later.',
    {
      cause,
    },
  )
}
