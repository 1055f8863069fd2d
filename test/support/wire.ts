/** A proxy between an app and a server that records all traffic, as a middlebox would see it. */
export function startRecordingProxy(target: string) {
  const recorded: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    maxRequestBodySize: 64 * 1024 * 1024,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const { method, headers } = request
      const body = await request.arrayBuffer()
      const reply = await fetch(`${target}${pathname}${search}`, {
        method,
        headers,
        ...(body.byteLength > 0 ? { body } : {}),
      })
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
