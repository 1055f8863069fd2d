/** The billing provider's REST API, with one response to everything. */
export function serveProvider(reply: (request: Request) => Response) {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: reply })
  return { url: `http://127.0.0.1:${server.port}`, [Symbol.dispose]: () => void server.stop(true) }
}
