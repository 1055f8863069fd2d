import type { Ask, TestApp } from './app.ts'
import type { startIdentityProvider } from './identity-provider.ts'

/** A route of the API, with a valid, an invalid and an oversized request. */
export type RouteCase = {
  method: string
  path: string
  access: 'public' | 'user' | 'webhook'
  good: Ask
  /** Changes the valid request so that it succeeds only for one user. */
  prepare?: (setup: Setup) => Promise<Ask & { path?: string }>
  bad?: Ask & { path?: string; status: number }
  oversize?: Ask
}

type Setup = {
  app: TestApp
  /** The user who makes the request. */
  user: Awaited<ReturnType<TestApp['register']>>
  identityProvider: Awaited<ReturnType<typeof startIdentityProvider>>
}

export const LONG = 'x'.repeat(70_000)

/** A public read. */
export function publicRead(path: string): RouteCase {
  const bad = { headers: { env: 'two words' }, status: 400 }
  return { method: 'GET', path, access: 'public', good: {}, bad }
}
