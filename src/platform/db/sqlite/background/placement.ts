import { mkdirSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { tryTo } from '../../../../lib/errors.ts'

/** The database, its log, and the index of its log. */
const SUFFIXES = ['', '-wal', '-shm']

/** Notices moved or removed files, to which SQLite would keep writing. A check takes microseconds. */
export function createPlacement(path: string) {
  const known = new Map<string, string>()
  check()
  return { check, makeCopyPath }

  /** A sentence for the operator; null while every file is in its place. */
  function check(): string | null {
    for (const file of SUFFIXES.map((suffix) => path + suffix)) {
      const found = readIdentity(file)
      const first = known.get(file)
      if (first !== undefined && first !== found) return describe(file, found === null)
      // SQLite creates the log later than the database.
      if (found !== null) known.set(file, found)
    }
    return null
  }

  function describe(file: string, isGone: boolean): string {
    return `${file} was ${isGone ? 'moved or removed' : 'replaced'} while the server uses it, so changes are refused. Put it back, or stop the server: if ${basename(path)} is not back, its data is then saved beside it as ${basename(path)}.saved-….`
  }

  /** Where to save the data that only this process still has; null if the database is in its place. */
  function makeCopyPath(): string | null {
    if (known.get(path) === readIdentity(path)) return null
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    return `${path}.saved-${Date.now()}`
  }
}

/** Null if the file is missing, or its folder has become a file, a loop of links, or one that we may not enter. */
function readIdentity(path: string): string | null {
  const stats = tryTo(() => statSync(path))
  return stats ? `${stats.dev}:${stats.ino}` : null
}
