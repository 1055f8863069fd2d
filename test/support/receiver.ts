export type Received = { path: string; headers: Record<string, string>; body: string; at: number }
type Reply = (request: Received) => Response | Promise<Response>

/** A server on loopback that records requests. `reply` can be replaced at any time. */
export function startReceiver(reply: Reply = () => new Response(null, { status: 204 })) {
  const received: Received[] = []
  const replies = { reply }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const headers = Object.fromEntries(request.headers)
      const path = new URL(request.url).pathname
      const recorded = { path, headers, body: await request.text(), at: performance.now() }
      received.push(recorded)
      return replies.reply(recorded)
    },
  })
  return Object.assign(replies, {
    url: `http://127.0.0.1:${server.port}/hooks`,
    received,
    [Symbol.dispose]: () => void server.stop(true),
  })
}
