import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createForward, serveForwarded } from '../../src/cli/service/forwarding.ts'
import type { Config } from '../../src/config/config.ts'
import type { AppError } from '../../src/lib/errors.ts'
import { readBody } from '../../src/platform/http/body/body.ts'

const MB = 2 ** 20
const LIMIT = 64 * 1024

test('homeport-* headers from a client are not forwarded', async () => {
  let seen: string[] = []
  await using front = await openHandover(async ({ headers }) => {
    seen = [...headers.keys()].filter((name) => /^(homeport-|content-length|user-agent)/.test(name))
    return new Response('ok')
  })
  const reply = await front.post(
    'Homeport-Length: 50\r\nHomeport-Peer: 1.2.3.4\r\nHomeport-X: 1',
    1,
  )
  expect(reply).toStartWith('HTTP/1.1 200')
  expect(seen).toEqual([])
})

test.each([
  ['', 80],
  ['Homeport-Length: 50', 80],
  ['', 1],
])(
  'an over-long chunked body (%s, %d MB) gets 413 during a handover',
  async (header, size) => {
    await using front = await openHandover((request) =>
      readBody(request, LIMIT).then(
        () => new Response('ok'),
        (error: AppError) => new Response(error.message, { status: 413 }),
      ),
    )
    expect(await front.post(header, size)).toStartWith('HTTP/1.1 413')
    expect(await front.post('', 0.01)).toStartWith('HTTP/1.1 200')
  },
  60_000,
)

/** A process that forwards requests to its successor, which answers them with `handle`. */
async function openHandover(handle: (request: Request) => Promise<Response>) {
  const dataDir = await mkdtemp(join(tmpdir(), 'homeport-forward-'))
  const config = { dataDir, isTls: false } as Config
  const next = await serveForwarded(config, 128 * MB, (_target, request) => handle(request))
  const forward = createForward(config, () => new Response('restarting', { status: 503 }))
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    maxRequestBodySize: 128 * MB,
    fetch: (request, self) => forward('app', request, self),
  })
  return {
    post: (header: string, megabytes: number) => postChunked(server.port ?? 0, header, megabytes),
    async [Symbol.asyncDispose]() {
      await server.stop(true)
      await next.stop()
      await rm(dataDir, { recursive: true })
    },
  }
}

/** Sends a chunked body while the server accepts it, and returns the head of the response. */
function postChunked(port: number, header: string, megabytes: number): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const socket = connect(port, '127.0.0.1')
  const fields = ['Host: x', 'Transfer-Encoding: chunked', ...(header ? [header] : [])]
  const piece = Buffer.alloc(LIMIT / 8, 'x')
  let left = Math.ceil((megabytes * MB) / piece.length)
  socket.on('error', () => resolve('reset'))
  socket.on('close', () => resolve('closed'))
  socket.on('data', (data) => {
    resolve(data.toString('latin1'))
    socket.destroy()
  })
  socket.on('drain', send)
  socket.write(`POST / HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`)
  send()
  return promise

  function send() {
    while (left-- > 0) {
      socket.write(`${piece.length.toString(16)}\r\n`)
      socket.write(piece)
      if (!socket.write('\r\n')) return
    }
    if (left === -1) socket.write('0\r\n\r\n')
  }
}
