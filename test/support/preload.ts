import { afterAll } from 'bun:test'
import { rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Data directories of tests live in memory where there is room: what they show does not depend on a disk,
 * and a power cut has tests of its own.
 */
const MEMORY = '/dev/shm'
const ROOM = 2 * 1024 ** 3

if (process.env['TMPDIR'] === undefined && hasRoom()) {
  process.env['TMPDIR'] = MEMORY
}

/** What `executable.ts` makes links to. */
afterAll(() => rmSync(join(tmpdir(), `homeport-executable-${process.pid}`), { force: true }))

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize > ROOM
  } catch {
    return false
  }
}
