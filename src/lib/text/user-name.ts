import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { tryTo } from '../errors.ts'

/** The name of a system user in `/etc/passwd`, or else the number. */
export function userName(uid: number): string {
  const users = tryTo(() => readFileSync('/etc/passwd', 'utf8')) ?? ''
  const line = users.split('\n').find((one) => one.split(':')[2] === String(uid))
  return line?.split(':')[0] ?? `user ${uid}`
}

/** The owner of `path`, or of its closest parent that this user can see. */
export function findFileOwner(path: string): number | null {
  const parent = dirname(path)
  return tryTo(() => statSync(path).uid) ?? (parent === path ? null : findFileOwner(parent))
}
