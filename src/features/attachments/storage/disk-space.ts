import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../../../lib/errors.ts'
import { makeFolder } from '../../../lib/files/durable-file.ts'
import { freeSpace } from '../../../lib/files/free-space.ts'

const PROBE = new Uint8Array(4096)

export type DiskSpace = ReturnType<typeof createDiskSpace>

/** Every write reserves its space first. */
export function createDiskSpace(folder: string, minFreeBytes: number) {
  let reserved = 0
  let makeRoom: (bytes: number) => void = () => {}
  return { probe, check, reserve, onShortage }

  /** Sets the function that frees the missing bytes, by deleting files that can be downloaded again. */
  function onShortage(work: typeof makeRoom) {
    makeRoom = work
  }

  /** Throws unless there is enough space and the disk is writable. Ignores reservations. */
  async function probe() {
    await makeFolder(folder)
    await requireFree(0)
    const path = join(folder, 'probe')
    // A disk quota limits bytes: an empty file could still be created.
    await writeFile(path, PROBE).finally(() => rm(path, { force: true }))
  }

  /** Throws `insufficient_storage` if `bytes` more would leave less than `minFreeBytes`. */
  async function check(bytes: number) {
    await makeFolder(folder)
    await requireFree(reserved + bytes)
  }

  /**
   * Throws `insufficient_storage`. Dispose of the result after the write. Reserve only bytes that have arrived, because
   * senders may stall.
   */
  async function reserve(bytes: number): Promise<Disposable> {
    // Reserve before checking the disk, so that two writes cannot claim the same space.
    reserved += bytes
    let isHeld = true
    const release = () => {
      if (isHeld) reserved -= bytes
      isHeld = false
    }
    try {
      await requireFree(reserved)
    } catch (error) {
      release()
      throw error
    }
    return { [Symbol.dispose]: release }
  }

  async function requireFree(bytes: number) {
    const missing = async () => minFreeBytes + bytes - (await freeSpace(folder)).bytes
    const before = await missing()
    if (before <= 0) return
    makeRoom(before)
    if ((await missing()) > 0) throw noSpace()
  }
}

export function noSpace(cause?: unknown): AppError {
  const message = 'The server has run out of storage space. Try again later.'
  return new AppError('insufficient_storage', message, { cause })
}
