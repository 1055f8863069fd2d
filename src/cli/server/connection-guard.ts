import { closeSync, openSync, readFileSync } from 'node:fs'
import { tryTo } from '../../lib/errors.ts'
import type { Log } from '../../lib/log/log.ts'
import { type Connection, endConnection, openConnections } from '../../lib/net/sockets.ts'
import { createConnectionKey } from '../../platform/http/request/client-address.ts'

type GuardDeps = {
  ports: () => number[]
  /** Accepts new connections, or leaves them waiting. */
  setAccepting: (isAccepting: boolean) => void
  trustedProxies: string[]
  log: Log
}

/** How often we check, normally and while file descriptors are scarce. */
const INTERVAL_MS = 100
const BUSY_INTERVAL_MS = 20
/** Descriptors reserved for our own files: a fraction of the limit, within bounds. */
const RESERVE = { divisor: 8, min: 32, max: 1024 }
/** One IP address may hold a quarter of the connections. */
const ADDRESS_DIVISOR = 4
/** We close at most a quarter of the allowed connections at once. */
const CLOSE_DIVISOR = 4
/** A connection used this recently counts as busy. */
const BUSY_MS = 50
/** A request or response that has stalled for this long gives way to others. */
const SILENT_MS = 15_000
/** Examining this many file descriptors takes about 70 ms. */
const MAX_EXAMINED = 4096
const WARN_INTERVAL_MS = 60_000

/**
 * Without a free descriptor, the runtime retries accepting in a loop and answers nothing. Closes connections beyond an
 * IP address's share first, then the longest idle, then stalled ones; when all are busy, new ones wait.
 */
export function guardConnections({ ports, setAccepting, trustedProxies, log }: GuardDeps) {
  const limit = openFilesLimit()
  if (limit === null) return
  const reserve = Math.min(Math.max(limit / RESERVE.divisor, RESERVE.min), RESERVE.max)
  const highWaterMark = Math.floor(limit - reserve)
  const toKey = createConnectionKey(trustedProxies)
  let isAccepting = true
  let warnedAt = -WARN_INTERVAL_MS
  setTimeout(check, INTERVAL_MS).unref()

  function check() {
    const isFull = nextFd() > highWaterMark
    const hasRoom = !isFull || makeRoom()
    if (isAccepting !== hasRoom) {
      isAccepting = hasRoom
      setAccepting(isAccepting)
    }
    setTimeout(check, isFull ? BUSY_INTERVAL_MS : INTERVAL_MS).unref()
  }

  /** Closes connections. Returns false when none can be closed. */
  function makeRoom(): boolean {
    const connections = openConnections(ports(), randomFds()) ?? []
    const share = Math.floor(connections.length / ADDRESS_DIVISOR)
    const groups = groupConnections(connections).filter(({ length }) => length > share)
    const excess = groups.flatMap((group) => {
      // Busy ones too: an IP address may hold connections with requests that never end.
      const idleFirst = [...longestIdleFirst(group.filter(isIdle)), ...longestIdleFirst(group)]
      return [...new Set(idleFirst)].slice(0, group.length - share)
    })
    const silent = connections.filter(({ idleMs }) => idleMs > SILENT_MS)
    const idle = longestIdleFirst(connections.filter(isIdle))
    const candidates = [...excess, ...idle, ...longestIdleFirst(silent)]
    const ended = [...new Set(candidates)].slice(0, Math.ceil(highWaterMark / CLOSE_DIVISOR))
    for (const connection of ended) endConnection(connection)
    if (ended.length > 0) warn(ended.length)
    return ended.length > 0
  }

  /** A random range of descriptors: listing the open ones would take a descriptor itself. */
  function randomFds(): number[] {
    const count = Math.min(highWaterMark, MAX_EXAMINED)
    const first = Math.floor(Math.random() * (highWaterMark - count))
    return Array.from({ length: count }, (_, at) => first + at)
  }

  /** The connections of each IP address, without those of trusted proxies. */
  function groupConnections(connections: Connection[]): Connection[][] {
    const groups = Map.groupBy(connections, ({ peer }) => toKey(peer))
    groups.delete(null)
    return [...groups.values()]
  }

  function warn(ended: number) {
    const at = performance.now()
    if (at - warnedAt < WARN_INTERVAL_MS) return
    warnedAt = at
    log.warn({ ended, limit }, 'too many connections: closing idle ones')
  }
}

function isIdle({ isAnswered, idleMs }: Connection): boolean {
  return isAnswered && idleMs > BUSY_MS
}

function longestIdleFirst(connections: Connection[]): Connection[] {
  return connections.toSorted((a, b) => b.idleMs - a.idleMs)
}

/** The lowest free descriptor; all below it are taken. */
function nextFd(): number {
  const fd = tryTo(() => openSync('/dev/null', 'r'))
  if (fd !== undefined) closeSync(fd)
  return fd ?? Infinity
}

function openFilesLimit(): number | null {
  if (process.platform !== 'linux') return null
  const limits = readFileSync('/proc/self/limits', 'utf8')
  const found = /^Max open files +(\d+)/m.exec(limits)
  return found ? Number(found[1]) : null
}
