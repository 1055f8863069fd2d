import { closeSync, openSync, readFileSync } from 'node:fs'
import type { Log } from '../lib/log.ts'
import { type Connection, endConnection, openConnections } from '../lib/sockets.ts'
import { createConnectionKey } from '../platform/http/client-ip.ts'

type GuardDeps = {
  ports: () => number[]
  /** Has new connections wait, or no longer. */
  setAccepting: (isAccepting: boolean) => void
  trustedProxies: string[]
  log: Log
}

/** How often is looked, and when there is too little room, in ms. */
const INTERVAL = 100
const BUSY_INTERVAL = 20
/** Files that are kept for ourselves: a part of the limit, within bounds. */
const RESERVE = { part: 8, least: 32, most: 1024 }
/** One address may have so large a part of the connections. */
const SHARE = 4
/** So large a part of all is closed at once. */
const SLACK = 4
/** A connection that was used a moment ago is in use, in ms. */
const IN_USE = 50
/** So many are looked at at once, which takes some 70 ms. */
const MAX_EXAMINED = 4096
const WARN_EVERY = 60_000

/**
 * Keeps file descriptors free. Without one the runtime asks for the next connection in a loop and answers nobody.
 * Before that, what one address has beyond its share is closed, and then what is quiet for longest. Where all are at
 * work, new ones wait.
 */
export function guardConnections({ ports, setAccepting, trustedProxies, log }: GuardDeps) {
  const limit = openFilesLimit()
  if (limit === null) return
  const reserve = Math.min(Math.max(limit / RESERVE.part, RESERVE.least), RESERVE.most)
  const mark = Math.floor(limit - reserve)
  const keyOf = createConnectionKey(trustedProxies)
  let isAccepting = true
  let warnedAt = -WARN_EVERY
  setTimeout(look, INTERVAL).unref()

  function look() {
    const isFull = nextFd() > mark
    const hasRoom = !isFull || makeRoom()
    if (isAccepting !== hasRoom) {
      isAccepting = hasRoom
      setAccepting(isAccepting)
    }
    setTimeout(look, isFull ? BUSY_INTERVAL : INTERVAL).unref()
  }

  /** Closes connections; false where none can be. */
  function makeRoom(): boolean {
    const connections = openConnections(ports(), someFds()) ?? []
    const share = Math.floor(connections.length / SHARE)
    const groups = groupsOf(connections).filter(({ length }) => length > share)
    const excess = groups.flatMap((group) => {
      // It may also have its connections by requests that never end.
      const idleFirst = [...quietest(group.filter(isIdle)), ...quietest(group)]
      return [...new Set(idleFirst)].slice(0, group.length - share)
    })
    const candidates = [...excess, ...quietest(connections.filter(isIdle))]
    const ended = [...new Set(candidates)].slice(0, Math.ceil(mark / SLACK))
    for (const one of ended) endConnection(one)
    if (ended.length > 0) warn(ended.length)
    return ended.length > 0
  }

  /** To list those that are open would take one itself. */
  function someFds(): number[] {
    const count = Math.min(mark, MAX_EXAMINED)
    const first = Math.floor(Math.random() * (mark - count))
    return Array.from({ length: count }, (_, at) => first + at)
  }

  /** The connections of each address, without those of trusted proxies. */
  function groupsOf(connections: Connection[]): Connection[][] {
    const groups = Map.groupBy(connections, ({ peer }) => keyOf(peer))
    groups.delete(null)
    return [...groups.values()]
  }

  function warn(ended: number) {
    const at = performance.now()
    if (at - warnedAt < WARN_EVERY) return
    warnedAt = at
    log.warn({ ended, limit }, 'too many connections: those that are quiet are closed')
  }
}

/** Nobody waits for a reply on it. */
function isIdle({ isAnswered, quietMs }: Connection): boolean {
  return isAnswered && quietMs > IN_USE
}

function quietest(connections: Connection[]): Connection[] {
  return connections.toSorted((a, b) => b.quietMs - a.quietMs)
}

/** The lowest number that is free: where it is beyond the mark, all below are taken. */
function nextFd(): number {
  try {
    const fd = openSync('/dev/null', 'r')
    closeSync(fd)
    return fd
  } catch {
    return Infinity
  }
}

function openFilesLimit(): number | null {
  if (process.platform !== 'linux') return null
  const limits = readFileSync('/proc/self/limits', 'utf8')
  const found = /^Max open files +(\d+)/m.exec(limits)
  return found ? Number(found[1]) : null
}
