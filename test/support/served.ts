import type { TestApp } from './app.ts'

/** Serves the application on a loopback port, so that requests have a client address. */
export function serveApp(app: TestApp) {
  const server = app.app.listen({ port: 0, hostname: '127.0.0.1' }).server as Bun.Server<unknown>
  return {
    url: `http://127.0.0.1:${server.port}`,
    ask: (path: string, headers: Record<string, string> = {}) =>
      fetch(`http://127.0.0.1:${server.port}${path}`, { headers }),
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
