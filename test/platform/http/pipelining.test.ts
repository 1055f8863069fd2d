import { expect, test } from 'bun:test'
import { openConnection } from '../../support/raw-request.ts'
import { until } from '../../support/until.ts'

/**
 * When a second request arrives before the response to the first, Bun 1.4 closes the connection
 * without a response, even though it carries out the first. `docs/deployment.md` describes this for
 * operators. When this test fails, Bun has fixed it: remove that paragraph.
 */
test('the runtime still drops a connection that pipelines requests', async () => {
  let received = 0
  let carriedOut = 0
  const { promise: bothAreSent, resolve: release } = Promise.withResolvers<void>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch() {
      received++
      await bothAreSent
      carriedOut++
      return new Response('done')
    },
  })
  const client = await openConnection(server.port ?? 0)
  const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
  client.write(request)
  await until(() => received > 0, 'the first request does not arrive')
  client.write(request)
  expect(await client.closed).toBe('')
  release()
  await (await fetch(server.url)).text()
  expect(carriedOut).toBe(2)
  await server.stop(true)
})
