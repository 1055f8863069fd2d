import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

export type FreeSpace = {
  bytes: number
  /** How many more files fit; null on a file system without such a limit. */
  inodes: number | null
}

/** Below this the disk counts as full: a failed write has freed its own inodes by the time we look. */
const MIN_FREE_INODES = 1_000

export async function freeSpace(path: string): Promise<FreeSpace> {
  const { bavail, bsize, files, ffree } = await statfs(path)
  return { bytes: bavail * bsize, inodes: files === 0 ? null : ffree }
}

/** File systems that need free space to overwrite: on a full disk, SQLite's index in shared memory ends the process. */
const COPY_ON_WRITE = new Map([
  [0x9123683e, 'btrfs'],
  [0xca451a4e, 'bcachefs'],
  [0x3434, 'nilfs2'],
])

/** The name of the copy-on-write file system of `path`, which may not exist yet; null for other file systems. */
export async function copyOnWriteSystem(path: string): Promise<string | null> {
  return COPY_ON_WRITE.get((await statfs(existingParent(path))).type) ?? null
}

/** Why the disk of `path`, which may not exist yet, is full, and what to do about it. */
export async function describeFullDisk(path: string | null) {
  const inodes = path === null ? null : (await freeSpace(existingParent(path))).inodes
  return inodes !== null && inodes < MIN_FREE_INODES
    ? {
        state: 'has no free inodes',
        advice: 'remove files that are not needed ("df -i" counts them)',
      }
    : { state: 'is full', advice: 'free some space' }
}

export function existingParent(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : existingParent(dirname(path))
}
