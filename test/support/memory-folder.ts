import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const MEMORY = '/dev/shm'
const MIN_FREE_BYTES = 2 * 1024 ** 3

/**
 * The folder for the data of tests: in memory if there is enough space, unless TMPDIR names another. The tests do not
 * depend on a disk, and power cuts have separate tests.
 */
export function memoryFolder(): string {
  return process.env['TMPDIR'] === undefined && hasSpace() ? MEMORY : tmpdir()
}

function hasSpace(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize > MIN_FREE_BYTES
  } catch {
    return false
  }
}
