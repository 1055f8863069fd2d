import { readFileSync } from 'node:fs'

/** The name of a system user in `/etc/passwd`, else the number. */
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
