import { dlopen, ptr } from 'bun:ffi'
import { closeSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import ipaddr from 'ipaddr.js'
import { tryTo } from '../errors.ts'

const SOL_SOCKET = 1
const SO_ACCEPTCONN = 30
const IPPROTO_TCP = 6
const TCP_INFO = 11
/** Offsets in `struct tcp_info`: ms since data was last sent and received. */
const LAST_SENT_AT = 44
const LAST_RECEIVED_AT = 52
const AF_UNIX = 1
const AF_INET = 2
const AF_INET6 = 10
/** A datagram socket that the program's child processes do not inherit. */
const SOCK_DGRAM_CLOEXEC = 0o2000002
const MSG_DONTWAIT = 0x40
const EPOLL_CTL_DEL = 2
const EPOLL_CTL_MOD = 3
const SHUT_RDWR = 2
const MSG_NOSIGNAL = 0x4000
/** `struct epoll_event` is packed only on x64. */
const EVENT_DATA_AT = process.arch === 'x64' ? 4 : 8
const LIBRARIES = ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1']

/** `isAnswered`: nothing arrived since the last response. `idleMs`: since data was last sent or received. */
export type Connection = {
  fd: number
  port: number
  peer: Uint8Array
  peerPort: number
  isAnswered: boolean
  sentMs: number
  idleMs: number
}

/** A listening socket. `close` leaves open connections alone. */
export type ListeningSocket = {
  setAccepting: (isAccepting: boolean) => void
  close: () => void
}

let loadedLibc: ReturnType<typeof openLibc> | undefined

/** Runs `listen` and finds the socket that it opens; null on systems other than Linux. */
export function captureListening<T>(listen: () => T): [T, ListeningSocket | null] {
  const before = new Set(listListeningFds())
  const server = listen()
  const fd = listListeningFds().find((one) => !before.has(one))
  return [server, fd === undefined ? null : createListeningSocket(fd)]
}

/** Connections to `ports` among these file descriptors; null on systems other than Linux. */
export function openConnections(ports: number[], fds = listOpenFds()): Connection[] | null {
  if (loadLibc() === null) return null
  return fds.flatMap((fd) => {
    const port = readAddress(fd, 'getsockname')?.port ?? -1
    if (!ports.includes(port)) return []
    const peer = readAddress(fd, 'getpeername')
    const info = readOption(fd, IPPROTO_TCP, TCP_INFO, LAST_RECEIVED_AT + 4)
    if (!peer || !info) return []
    const [sentMs, receivedMs] = [LAST_SENT_AT, LAST_RECEIVED_AT].map((at) =>
      info.getUint32(at, true),
    ) as [number, number]
    const isAnswered = receivedMs >= sentMs
    const idleMs = Math.min(sentMs, receivedMs)
    return { fd, port, peer: peer.bytes, peerPort: peer.port, isAnswered, sentMs, idleMs }
  })
}

type Peer = { address: string | { toString: () => string }; port: number }

/** For how many ms nothing was sent, by `describeConnection`; null on systems other than Linux. */
export function readSendingIdleTimes(ports: number[]): Map<string, number> | null {
  const connections = openConnections(ports)
  return (
    connections &&
    new Map(
      connections.map(({ port, peer, peerPort, sentMs }) => [
        describeConnection(port, { address: ipaddr.fromByteArray([...peer]), port: peerPort }),
        sentMs,
      ]),
    )
  )
}

/** A connection to one of our ports, such as `3000 192.0.2.1 40000`. */
export function describeConnection(port: number, peer: Peer): string {
  return `${port} ${ipaddr.process(String(peer.address))} ${peer.port}`
}

/** Sends bytes to a peer, bypassing the runtime. Returns false where that is not possible. */
export function sendRaw(text: string, port: number, peer: Peer | null): boolean {
  const fd = findConnection(port, peer)
  const bytes = Buffer.from(text)
  if (fd === undefined) return false
  return Number(loadLibc()?.send(fd, ptr(bytes), bytes.length, MSG_NOSIGNAL)) === bytes.length
}

function findConnection(port: number, peer: Peer | null): number | undefined {
  if (loadLibc() === null || peer === null) return undefined
  return listOpenFds().find((fd) => isConnection(fd, port, peer))
}

function isConnection(fd: number, port: number, peer: Peer): boolean {
  const remote = readAddress(fd, 'getpeername')
  // Formatting is slow, and the port alone tells most peers apart.
  if (remote?.port !== peer.port || readAddress(fd, 'getsockname')?.port !== port) return false
  const address = ipaddr.fromByteArray([...remote.bytes])
  return describeConnection(port, { address, port: remote.port }) === describeConnection(port, peer)
}

/** Ends a connection: to the runtime it looks closed by the peer. */
export function endConnection({ fd }: Connection) {
  loadLibc()?.shutdown(fd, SHUT_RDWR)
}

/** Sends a datagram to a Unix socket; `@` begins the name of an abstract one. Returns whether it was sent. */
export function sendDatagram(path: string, text: string): boolean {
  const libc = loadLibc()
  const fd = libc?.socket(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0) ?? -1
  if (libc === null || fd < 0) return false
  const address = Buffer.concat([
    new Uint8Array([AF_UNIX, 0]),
    Buffer.from(path.replace(/^@/, '\0')),
  ])
  const data = Buffer.from(text)
  try {
    const sent = libc.sendto(fd, ptr(data), data.length, MSG_DONTWAIT, ptr(address), address.length)
    return Number(sent) === data.length
  } finally {
    closeSync(fd)
  }
}

function listOpenFds(): number[] {
  return readdirSync('/proc/self/fd').map(Number)
}

/** System calls that Bun does not expose, loaded on first use; null where there are none. */
function loadLibc() {
  loadedLibc ??= process.platform === 'linux' ? openLibc() : null
  return loadedLibc
}

function openLibc() {
  for (const name of LIBRARIES) {
    try {
      return dlopen(name, {
        epoll_ctl: { args: ['i32', 'i32', 'i32', 'ptr'], returns: 'i32' },
        shutdown: { args: ['i32', 'i32'], returns: 'i32' },
        send: { args: ['i32', 'ptr', 'u64', 'i32'], returns: 'i64' },
        getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
        getsockname: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
        getpeername: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
        socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
        sendto: { args: ['i32', 'ptr', 'u64', 'i32', 'ptr', 'u32'], returns: 'i64' },
      }).symbols
    } catch {
      // Other distributions use a different name for it.
    }
  }
  return null
}

function listListeningFds(): number[] {
  return loadLibc() === null
    ? []
    : listOpenFds().filter((fd) => readOption(fd, SOL_SOCKET, SO_ACCEPTCONN, 4)?.getUint32(0, true))
}

/** Edits the epoll entry of the socket, because the runtime accepts what its epoll queue reports. */
function createListeningSocket(fd: number): ListeningSocket | null {
  const isQueue = (one: number) =>
    tryTo(() => readlinkSync(`/proc/self/fd/${one}`)) === 'anon_inode:[eventpoll]'
  for (const queue of listOpenFds().filter(isQueue)) {
    const watched = readFileSync(`/proc/self/fdinfo/${queue}`, 'utf8').matchAll(
      /tfd: +(\d+) events: +([0-9a-f]+) data: +([0-9a-f]+)/g,
    )
    for (const [, target, events = '', data] of watched) {
      if (Number(target) !== fd) continue
      const control = (operation: number, mask: number) => {
        const event = new DataView(new ArrayBuffer(16))
        event.setUint32(0, mask, true)
        event.setBigUint64(EVENT_DATA_AT, BigInt(`0x${data}`), true)
        loadLibc()?.epoll_ctl(queue, operation, fd, ptr(event))
      }
      return {
        setAccepting: (isAccepting) =>
          control(EPOLL_CTL_MOD, isAccepting ? Number.parseInt(events, 16) : 0),
        close() {
          control(EPOLL_CTL_DEL, 0)
          loadLibc()?.shutdown(fd, SHUT_RDWR)
        },
      }
    }
  }
  return null
}

function readOption(fd: number, level: number, name: number, size: number): DataView | null {
  const value = new DataView(new ArrayBuffer(size))
  const length = new Uint32Array([size])
  return loadLibc()?.getsockopt(fd, level, name, ptr(value), ptr(length)) === 0 ? value : null
}

function readAddress(fd: number, which: 'getsockname' | 'getpeername') {
  const address = new Uint8Array(28)
  const length = new Uint32Array([address.length])
  if (loadLibc()?.[which](fd, ptr(address), ptr(length)) !== 0) return null
  const view = new DataView(address.buffer)
  const family = view.getUint16(0, true)
  if (family !== AF_INET && family !== AF_INET6) return null
  const bytes = family === AF_INET ? address.subarray(4, 8) : address.subarray(8, 24)
  return { port: view.getUint16(2), bytes }
}
