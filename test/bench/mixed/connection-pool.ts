import { connect, type Socket } from 'bun'
import { createReplyReader, type Reply } from './reply-reader.ts'

/** A request's bytes, and the callback for its response: null if the connection broke. */
export type Exchange = { bytes: Uint8Array; accept: (reply: Reply | null) => void }

type Connection = { socket: Socket<undefined>; current: Exchange | null; unsent: Uint8Array }

export type ConnectionPool = ReturnType<typeof createConnectionPool>

/**
 * Keep-alive connections to a server, one request at a time on each. It opens as many as
 * are needed at once, up to `max`; further requests wait in order.
 */
export function createConnectionPool(port: number, max: number) {
  const idle: Connection[] = []
  const all = new Set<Connection>()
  /** One function per queued request, which builds the request once a connection is free. */
  const waiting: (() => Exchange)[] = []
  let opening = 0
  return { send, close }

  /** Sends the request that `createExchange` returns over the next free connection. */
  function send(createExchange: () => Exchange) {
    const connection = idle.pop()
    if (connection) return start(connection, createExchange())
    waiting.push(createExchange)
    if (all.size + opening < max && opening < waiting.length) void open()
  }

  /** Closes all connections; active and waiting requests get null. */
  function close() {
    for (const createExchange of waiting.splice(0)) createExchange().accept(null)
    for (const { socket } of all) socket.terminate()
  }

  async function open() {
    opening++
    const reader = createReplyReader()
    const connection: Partial<Connection> = { current: null, unsent: new Uint8Array() }
    try {
      connection.socket = await connect({
        hostname: '127.0.0.1',
        port,
        socket: {
          data(_socket, piece) {
            const reply = reader.take(piece)
            if (reply) finish(connection as Connection, reply)
          },
          drain: () => flush(connection as Connection),
          close: () => drop(connection as Connection),
        },
      })
    } catch {
      waiting.shift()?.().accept(null)
      return
    } finally {
      opening--
    }
    all.add(connection as Connection)
    release(connection as Connection)
  }

  function start(connection: Connection, exchange: Exchange) {
    connection.current = exchange
    connection.unsent = exchange.bytes
    flush(connection)
  }

  function flush(connection: Connection) {
    if (connection.unsent.length === 0) return
    const written = connection.socket.write(connection.unsent)
    connection.unsent = connection.unsent.subarray(Math.max(written, 0))
  }

  function finish(connection: Connection, reply: Reply) {
    const { current } = connection
    connection.current = null
    current?.accept(reply)
    release(connection)
  }

  function release(connection: Connection) {
    const next = waiting.shift()
    if (next) start(connection, next())
    else idle.push(connection)
  }

  function drop(connection: Connection) {
    all.delete(connection)
    const at = idle.indexOf(connection)
    if (at >= 0) idle.splice(at, 1)
    const { current } = connection
    connection.current = null
    current?.accept(null)
    if (waiting.length > 0) void open()
  }
}
