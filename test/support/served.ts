import { createServingSocket } from '../../src/cli/server/serving-socket.ts'
import { createTestApp, type TestApp } from './app.ts'

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

type Listening = { idleTimeout?: number; tls?: { cert: string; key: string } }

/** The application behind a serving socket, as the command `serve` runs it, and the access token of a user. */
export async function serveBehindSocket(options: Listening = {}, keepAlive = 60) {
  const app = await createTestApp()
  const { accessToken: token } = await app.register()
  const socket = createServingSocket('app', keepAlive)
  app.app.wrap((next) => (request: Request) => socket.answer(next as never, request))
  const address = { port: 0, hostname: '127.0.0.1' }
  const listen = () => app.app.listen({ ...address, ...options }).server as Bun.Server<unknown>
  const { port = 0 } = socket.open(listen)
  return {
    port,
    token,
    dataDir: app.dataDir,
    async [Symbol.asyncDispose]() {
      await socket.stop()
      await app[Symbol.asyncDispose]()
    },
  }
}
