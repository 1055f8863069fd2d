import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../../lib/durable-file.ts'
import { AppError } from '../../../lib/errors.ts'
import { freeSpace } from '../../../lib/free-space.ts'

export type DiskSpace = ReturnType<typeof createDiskSpace>

/** Keeps `minFreeBytes` of the disk that `folder` is on free: whatever is written is reserved before. */
export function createDiskSpace(folder: string, minFreeBytes: number) {
  /** Reserved by writes under way, in bytes. */
  let reserved = 0
  return { probe, check, reserve }

  /** Throws unless a file can be stored now: enough room, and a disk that takes it. Writes under way do not count. */
  async function probe() {
    await makeFolder(folder)
    if ((await freeBytes()) < minFreeBytes) throw noSpace()
    const path = join(folder, 'probe')
    await writeFile(path, '')
    await rm(path)
  }

  /** Throws `insufficient_storage` when `bytes` more would go below the floor. */
  async function check(bytes: number) {
    await makeFolder(folder)
    if ((await freeBytes()) - reserved - bytes < minFreeBytes) throw noSpace()
  }

  /**
   * Reserves `bytes` for a write that begins at once, or throws `insufficient_storage`. Dispose of it when they are
   * on the disk. What is still on its way to us reserves nothing: a sender who stalls would hold it for long.
   */
  async function reserve(bytes: number): Promise<Disposable> {
    // Before the disk is asked, so that two at once cannot both count on the same room.
    reserved += bytes
    let isHeld = true
    const release = () => {
      if (isHeld) reserved -= bytes
      isHeld = false
    }
    try {
      if ((await freeBytes()) - reserved < minFreeBytes) throw noSpace()
    } catch (error) {
      release()
      throw error
    }
    return { [Symbol.dispose]: release }
  }

  async function freeBytes(): Promise<number> {
    return (await freeSpace(folder)).bytes
  }
}

export function noSpace(cause?: unknown): AppError {
  const message = 'The server has no space for files. Try again later.'
  return new AppError('insufficient_storage', message, { cause })
}
