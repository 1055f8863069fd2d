import type { Stats } from 'node:fs'

const ROOT_GROUP = 0
const GROUP_BITS = 0o070
const READ_BITS = 0o044
/** The permissions to write and to execute. */
const CHANGE_BITS = 0o333

/**
 * Whether other users have any of `bits`. Our groups (Kubernetes' `fsGroup`) and readers of a 0444 mount do not count.
 */
export function isExposed({ mode, uid, gid }: Pick<Stats, 'mode' | 'uid' | 'gid'>, bits: number) {
  const isOurGroup = gid === ROOT_GROUP || ourGroups().includes(gid)
  const isOurs = uid === process.geteuid?.() || ourGroups().includes(gid)
  const isMounted = isOurs && (mode & CHANGE_BITS) === 0
  const tolerated = (isOurGroup ? GROUP_BITS : 0) | (isMounted ? READ_BITS : 0)
  return (mode & bits & ~tolerated) !== 0
}

function ourGroups(): (number | undefined)[] {
  return [process.getegid?.(), ...(process.getgroups?.() ?? [])]
}
