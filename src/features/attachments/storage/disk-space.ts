import { rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../../lib/durable-file.ts'
import { AppError } from '../../../lib/errors.ts'

/** Room on the disk that was promised to somebody. Dispose of it when the bytes are kept or removed. */
export type Reservation = {
  /** Counts bytes that are on the disk by now. Throws `insufficient_storage` when it fills up all the same. */
  recordWritten: (bytes: number) => Promise<void>
} & Disposable

export type DiskSpace = ReturnType<typeof createDiskSpace>

/** Free space is checked again after this many bytes. */
const CHECK_EVERY_BYTES = 1024 * 1024

/** Keeps `minFreeBytes` of the disk that `folder` is on free: who wants to store must ask before. */
export function createDiskSpace(folder: string, minFreeBytes: number) {
  /** Promised, but not written yet, in bytes. */
  let promised = 0
  return { probe, reserve }

  /** Throws `insufficient_storage` when nothing more should be stored. */
  async function check() {
    await makeFolder(folder)
    const { bavail, bsize } = await statfs(folder)
    if (bavail * bsize - promised < minFreeBytes) throw noSpace()
  }

  /** Throws unless a file can be stored now: enough room, and a disk that takes it. */
  async function probe() {
    await check()
    const path = join(folder, 'probe')
    await writeFile(path, '')
    await rm(path)
  }

  /** Promises `bytes`, or throws `insufficient_storage` when they would go below the floor. */
  async function reserve(bytes: number): Promise<Reservation> {
    // Before the disk is asked, so that two at once cannot both count on the same room.
    promised += bytes
    let left = bytes
    let bytesSinceCheck = 0
    const reservation = { recordWritten, [Symbol.dispose]: giveBack }
    try {
      await check()
      return reservation
    } catch (error) {
      giveBack()
      throw error
    }

    async function recordWritten(written: number) {
      const kept = Math.min(written, left)
      left -= kept
      promised -= kept
      bytesSinceCheck += written
      if (bytesSinceCheck < CHECK_EVERY_BYTES) return
      bytesSinceCheck = 0
      await check()
    }

    function giveBack() {
      promised -= left
      left = 0
    }
  }
}

export function noSpace(cause?: unknown): AppError {
  const message = 'The server has no space for files. Try again later.'
  return new AppError('insufficient_storage', message, { cause })
}
