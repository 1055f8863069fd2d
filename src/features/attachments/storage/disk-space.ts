import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../../lib/durable-file.ts'
import { AppError } from '../../../lib/errors.ts'
import { freeSpace } from '../../../lib/free-space.ts'

export type DiskSpace = ReturnType<typeof createDiskSpace>

/** Keeps `minFreeBytes` free on the disk of `folder`: every write reserves its space first. */
export function createDiskSpace(folder: string, minFreeBytes: number) {
  /** Bytes reserved by current writes. */
  let reserved = 0
  return { probe, check, reserve }

  /** Throws unless there is enough space and the disk is writable. Ignores reservations. */
  async function probe() {
    await makeFolder(folder)
    if ((await freeBytes()) < minFreeBytes) throw noSpace()
    const path = join(folder, 'probe')
    await writeFile(path, '')
    await rm(path)
  }

  /** Throws `insufficient_storage` if `bytes` more would leave less than `minFreeBytes`. */
  async function check(bytes: number) {
    await makeFolder(folder)
    if ((await freeBytes()) - reserved - bytes < minFreeBytes) throw noSpace()
  }

  /**
   * Reserves `bytes` for an immediate write, or throws `insufficient_storage`. Dispose of the result after the write.
   * Reserve only bytes that have arrived, or a stalled sender would hold space.
   */
  async function reserve(bytes: number): Promise<Disposable> {
    // Reserve before asking the disk, so that two writes cannot claim the same space.
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
