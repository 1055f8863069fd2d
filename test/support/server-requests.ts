import type { Ask, TestApp } from './app.ts'

type Context = { app: TestApp; userId: string; accessToken: string }
type Request = Ask & { path?: string }

/** A good request to each route of a feature's server API, by method and path. */
export type ServerRequests = Record<string, (context: Context) => Request | Promise<Request>>

/** Loads the requests of all features from the `server.requests.ts` beside their tests. */
export async function loadServerRequests(): Promise<ServerRequests> {
  const found = new Bun.Glob('../features/*/server.requests.ts').scanSync(import.meta.dir)
  const modules = await Promise.all([...found].map((path) => import(`./${path}`)))
  return Object.assign({}, ...modules.map(({ requests }) => requests))
}
