import { connect, createServer, type Socket } from 'node:net'

/** A proxy between an instance and the database at `url` that delays each direction by `ms`. */
export async function startDelayingProxy(url: string, ms: number) {
  const target = new URL(url)
  const [host, port] = [target.hostname, Number(target.port)]
  const sockets = new Set<Socket>()
  const proxy = createServer({ noDelay: true }, (client) => {
    const server = connect({ port, host, noDelay: true })
    forward(client, server)
    forward(server, client)
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  proxy.listen(0, '127.0.0.1', resolve)
  await promise
  target.hostname = '127.0.0.1'
  target.port = String((proxy.address() as { port: number }).port)
  return { url: target.href, [Symbol.dispose]: dispose }

  function forward(from: Socket, to: Socket) {
    sockets.add(from)
    from.on('error', () => {})
    from.on('close', () => to.destroy())
    // Timers of the same duration fire in order.
    from.on('data', (bytes) =>
      setTimeout(() => {
        if (!to.destroyed) to.write(bytes)
      }, ms),
    )
  }

  function dispose() {
    proxy.close()
    for (const socket of sockets) socket.destroy()
  }
}
