type Intercept = (request: Request, send: () => Promise<Response>) => Promise<Response>

/**
 * A proxy between an app and a server that records all traffic, as a middlebox would see it. `intercept` may send a
 * request several times, and change its response.
 */
export function startRecordingProxy(
  target: string,
  intercept: Intercept = (_request, send) => send(),
) {
  const recorded: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    maxRequestBodySize: 64 * 1024 * 1024,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const { method, headers } = request
      const body = await request.arrayBuffer()
      const content = body.byteLength > 0 ? { body } : {}
      const send = () => fetch(`${target}${pathname}${search}`, { method, headers, ...content })
      const reply = await intercept(request, send)
      const text = await reply.bytes()
      recorded.push(`${method} ${pathname}${search}`, JSON.stringify([...headers]), latin1(body))
      recorded.push(JSON.stringify([...reply.headers]), latin1(text.buffer))
      const { status } = reply
      // `fetch` has decompressed the body.
      const decoded = new Headers(reply.headers as unknown as Headers)
      decoded.delete('content-encoding')
      decoded.delete('content-length')
      return new Response(text, { status, headers: decoded })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    /** All requests and responses so far. */
    text: () => recorded.join('\n'),
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

function latin1(bytes: ArrayBufferLike): string {
  return Buffer.from(bytes as ArrayBuffer).toString('latin1')
}
