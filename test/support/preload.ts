import { statfsSync } from 'node:fs'

/**
 * Data directories of tests live in memory where there is room: what they show does not depend on a disk,
 * and a power cut has tests of its own.
 */
const MEMORY = '/dev/shm'
const ROOM = 2 * 1024 ** 3

if (process.env['TMPDIR'] === undefined && hasRoom()) {
  process.env['TMPDIR'] = MEMORY
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize > ROOM
  } catch {
    return false
  }
}
