/** Sends a raw request head, whose lines must end with CRLF, and returns the reply. */
export async function rawRequest(port: number, head: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let reply = ''
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port,
    socket: {
      data(_socket, chunk) {
        reply += chunk.toString()
        if (reply.includes('\r\n\r\n')) resolve(reply)
      },
      close: () => resolve(reply),
    },
  })
  socket.write(`${head}\r\n`)
  const answer = await promise
  socket.end()
  return answer
}
