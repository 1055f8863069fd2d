import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

export type Connection = Awaited<ReturnType<typeof openConnection>>

/**
 * A connection for raw requests. `received()` is all that has arrived; `closed` resolves with it at the end. Trusts every
 * certificate.
 */
export async function openConnection(port: number, isTls = false) {
  const options = { port, host: '127.0.0.1', rejectUnauthorized: false }
  const socket: Socket = isTls ? connectTls(options) : connect(options)
  let text = ''
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)))
  socket.setNoDelay()
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    text += chunk.toString()
  })
  await new Promise((resolve) => socket.once(isTls ? 'secureConnect' : 'connect', resolve))
  return { socket, closed, received: () => text, write: (part: string) => socket.write(part) }
}

/** Sends a raw request head, whose lines must end with CRLF, and returns the response. */
export async function rawRequest(port: number, head: string): Promise<string> {
  const { socket, closed, received, write } = await openConnection(port)
  const hasHead = new Promise<void>((resolve) => {
    socket.on('data', () => received().includes('\r\n\r\n') && resolve())
  })
  write(`${head}\r\n`)
  await Promise.race([hasHead, closed])
  socket.end()
  return received()
}
