import { statSync } from 'node:fs'
import type { Config } from '../config.ts'

const ALL_MAY_WRITE = 0o002

/** A sentence for each of our folders in which every user of this machine could replace our files. */
export function openFolders({ dataDir, backupDir, nativeDir }: Config): string[] {
  const folders = [dataDir, backupDir, nativeDir].filter((path) => path !== null)
  return folders
    .filter((path) => modeOf(path) & ALL_MAY_WRITE)
    .map((path) => `Every user of this machine may write to ${path}: run "chmod o-w ${path}".`)
}

/** 0 where there is no such folder: whoever needs it says so, and some can do without. */
function modeOf(path: string): number {
  try {
    return statSync(path).mode
  } catch {
    return 0
  }
}
