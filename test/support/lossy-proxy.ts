import { connect, createServer, type Socket } from 'node:net'

/** A proxy between an instance and the database at `url` that can drop the response to a statement. */
export async function startLossyProxy(url: string) {
  const target = new URL(url)
  const [host, port] = [target.hostname, Number(target.port)]
  const sockets = new Set<Socket>()
  let phrase: string | null = null
  const proxy = createServer((client) => {
    const server = connect(port, host)
    let isLost = false
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        client.destroy()
        server.destroy()
      })
    }
    client.on('data', (bytes) => {
      if (phrase !== null && bytes.includes(phrase)) {
        isLost = true
        phrase = null
      }
      server.write(bytes)
    })
    server.on('data', (bytes) => {
      if (isLost) client.destroy()
      else client.write(bytes)
    })
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  proxy.listen(0, '127.0.0.1', resolve)
  await promise
  target.hostname = '127.0.0.1'
  target.port = String((proxy.address() as { port: number }).port)
  return { url: target.href, dropReplyTo, [Symbol.dispose]: dispose }

  /** Closes the connection instead of responding to the next statement that contains `text`. */
  function dropReplyTo(text: string) {
    phrase = text
  }

  function dispose() {
    proxy.close()
    for (const socket of sockets) socket.destroy()
  }
}
