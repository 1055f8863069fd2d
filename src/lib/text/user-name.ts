import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** The name of a system user in `/etc/passwd`, or else the number. */
export function userName(uid: number): string {
  const line = readUsers().find((one) => one.split(':')[2] === String(uid))
  return line?.split(':')[0] ?? `user ${uid}`
}

function readUsers(): string[] {
  try {
    return readFileSync('/etc/passwd', 'utf8').split('\n')
  } catch {
    return []
  }
}

/** The owner of `path`, or of its closest parent that this user can see. */
export function findFileOwner(path: string): number | null {
  try {
    return statSync(path).uid
  } catch {
    const parent = dirname(path)
    return parent === path ? null : findFileOwner(parent)
  }
}
