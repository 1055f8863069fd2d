import { expect, test } from 'bun:test'
import { createServingSocket } from '../../src/cli/server/serving-socket.ts'
import { readBody } from '../../src/platform/http/body/body.ts'
import { openConnection } from '../support/raw-request.ts'

const HEAD = 'POST /x HTTP/1.1\r\nHost: a.b\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n'
const UNANNOUNCED = HEAD.replace('Trailer: X-T\r\n', '')
const BODY = '3\r\nabc\r\n'
const TRAILER = 'X-T: 1\r\n\r\n'

test.each<[string, string[]]>([
  ['in one packet', [`${HEAD}${BODY}0\r\n${TRAILER}`]],
  ['without announcing it', [`${UNANNOUNCED}${BODY}0\r\n${TRAILER}`]],
  ['in the last packet', [HEAD, BODY, `0\r\n${TRAILER}`]],
])(
  'a request with a trailer %s gets one response, and is not carried out',
  async (_how, packets) => {
    await using server = serve()
    expect(repliesIn(await server.send(packets))).toEqual(['400'])
    expect(server.bodies).toEqual([])
  },
)

test('a trailer after the body does not change its single response', async () => {
  await using server = serve()
  for (const packets of [
    [HEAD, BODY, '0\r\n', TRAILER],
    [HEAD, BODY, '0\r\nX', '-T: 1\r\n\r\n'],
  ])
    expect(repliesIn(await server.send(packets))).toHaveLength(1)
})

test('a chunked request without a trailer is carried out', async () => {
  await using server = serve()
  for (const packets of [[`${HEAD}${BODY}0\r\n\r\n`], [HEAD, BODY, '0\r\n\r\n']])
    expect(repliesIn(await server.send(packets))).toEqual(['200'])
  expect(server.bodies).toEqual(['abc', 'abc'])
})

test('a chunked request that is refused before its body is read gets one response', async () => {
  await using server = serve(() => new Response('refused', { status: 401 }))
  for (const packets of [[`${HEAD}${BODY}0\r\n${TRAILER}`], [HEAD, `${BODY}0\r\n${TRAILER}`]]) {
    expect(repliesIn(await server.send(packets))).toHaveLength(1)
  }
})

/** The status of each response. */
function repliesIn(bytes: string): string[] {
  return [...bytes.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = '']) => status)
}

/** A server whose responses go through our socket. `handle` replaces reading the body. */
function serve(handle?: () => Response) {
  const socket = createServingSocket('app', 5)
  const bodies: string[] = []
  let arrived = Promise.withResolvers<void>()
  const server = socket.open(() =>
    Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: (request) => {
        if (request.method === 'GET') return new Response()
        arrived.resolve()
        return socket.answer(async () => {
          if (handle) return handle()
          try {
            bodies.push(new TextDecoder().decode(await readBody(request, 100)))
            return new Response('done')
          } catch {
            return new Response('failed', { status: 400 })
          }
        }, request)
      },
    }),
  )
  return { bodies, send, [Symbol.asyncDispose]: () => server.stop(true) }

  /** Sends packets one by one, and returns everything that arrives until the server closes the connection. */
  async function send(packets: string[]): Promise<string> {
    arrived = Promise.withResolvers()
    const client = await openConnection(server.port ?? 0)
    for (const packet of packets) {
      client.write(packet)
      await arrived.promise
      // The server reads what has arrived before it gets the next packet.
      await fetch(server.url).then((response) => response.text())
    }
    return client.closed
  }
}
