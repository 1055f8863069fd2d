import { expect, test } from 'bun:test'

/**
 * When a second request arrives before the reply to the first, Bun 1.4 closes the connection
 * without a reply, although it carries out the first. `docs/deployment.md` describes this for
 * operators. When this test fails, Bun has fixed it: remove that paragraph.
 */
test('the runtime still drops a connection that pipelines requests', async () => {
  let carriedOut = 0
  const { promise: bothAreSent, resolve: release } = Promise.withResolvers<void>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch() {
      await bothAreSent
      carriedOut++
      return new Response('done')
    },
  })
  const { promise, resolve } = Promise.withResolvers<string>()
  let reply = ''
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: server.port ?? 0,
    socket: {
      data(_socket, chunk) {
        reply += chunk.toString()
      },
      close: () => resolve(reply),
    },
  })
  const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
  socket.write(request)
  await Bun.sleep(5)
  socket.write(request)
  expect(await Promise.race([promise, Bun.sleep(2_000).then(() => 'answered')])).toBe('')
  release()
  await Bun.sleep(50)
  expect(carriedOut).toBe(1)
  await server.stop(true)
})
