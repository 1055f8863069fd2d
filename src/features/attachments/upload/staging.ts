import { open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../../lib/files/durable-file.ts'
import { newKey } from '../../../lib/ids.ts'
import { HOUR_MS } from '../../../lib/time/durations.ts'
import { type DiskSpace, noSpace } from '../storage/disk-space.ts'

/** A received file. `head`: its first bytes, to detect the type. `hash`: its SHA-256. */
export type Staged = { path: string; size: number; head: Uint8Array; hash: string }

export type Staging = ReturnType<typeof createStaging>

const HEAD_BYTES = 4_100
/** Older temporary files are abandoned. */
const ABANDONED_AFTER_MS = HOUR_MS

/** Temporary files, on the same disk as the stored files. */
export function createStaging(folder: string, space: DiskSpace) {
  const inUse = new Set<string>()
  return { check: space.check, receive, newPath, discard, sweep }

  /** Throws `tooLarge()` beyond `limit` bytes, or `insufficient_storage`; neither leaves a file behind. */
  async function receive(
    source: AsyncIterable<Uint8Array>,
    limit: number,
    tooLarge: () => Error,
  ): Promise<Staged> {
    const path = await newPath()
    try {
      await using file = await open(path, 'wx', 0o600)
      const head: Uint8Array[] = []
      const hasher = new Bun.CryptoHasher('sha256')
      let size = 0
      for await (const chunk of source) {
        if (size < HEAD_BYTES) head.push(chunk.slice(0, HEAD_BYTES - size))
        size += chunk.byteLength
        hasher.update(chunk)
        if (size > limit) throw tooLarge()
        using _room = await space.reserve(chunk.byteLength)
        // writeFile on a handle continues after a short write; write does not.
        await file.writeFile(chunk)
      }
      return { path, size, head: Buffer.concat(head), hash: hasher.digest('base64url') }
    } catch (error) {
      await discard([{ path }])
      throw (error as { code?: string }).code === 'ENOSPC' ? noSpace(error) : error
    }
  }

  async function newPath(): Promise<string> {
    await makeFolder(folder)
    const path = join(folder, newKey())
    inUse.add(path)
    return path
  }

  async function discard(staged: Pick<Staged, 'path'>[]) {
    for (const { path } of staged) {
      inUse.delete(path)
      await rm(path, { force: true })
    }
  }

  /** Deletes files that earlier processes left behind. Files in use may look old, if the clock has jumped ahead. */
  async function sweep(now: Date) {
    for (const name of await readdir(folder).catch(() => [])) {
      const path = join(folder, name)
      if (inUse.has(path)) continue
      const stats = await stat(path).catch(() => null)
      if (stats && now.getTime() - stats.mtimeMs > ABANDONED_AFTER_MS)
        await rm(path, { force: true })
    }
  }
}
