import { existsSync, type StatsFs, statfsSync } from 'node:fs'
import { dirname } from 'node:path'

/** What failed has removed its own files by the time that the disk is looked at. */
const FEW_INODES = 1_000

/** Why nothing more fits on the disk of `path`, which need not be there, and what to do. */
export function describeFull(path: string | null) {
  return path !== null && lacksInodes(statfsSync(existing(path)))
    ? {
        state: 'has no free inodes',
        advice: 'remove files that are not needed ("df -i" counts them)',
      }
    : { state: 'is full', advice: 'free some space' }
}

/** Some file systems have no limit of inodes: they tell 0 in all. */
function lacksInodes({ files, ffree }: StatsFs): boolean {
  return files > 0 && ffree < FEW_INODES
}

function existing(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : existing(dirname(path))
}
