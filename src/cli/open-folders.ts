import { statSync } from 'node:fs'
import type { Config } from '../config.ts'

const ALL_MAY_WRITE = 0o002

/** A sentence for each of our folders in which every user of this machine could replace our files. */
export function openFolders({ dataDir, backupDir, nativeDir }: Config): string[] {
  const folders = [dataDir, backupDir, nativeDir].filter((path) => path !== null)
  return folders.flatMap((path) => {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined || (found.mode & ALL_MAY_WRITE) === 0) return []
    return `Every user of this machine may write to ${path}: run "chmod o-w ${path}".`
  })
}
