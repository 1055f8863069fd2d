import type { Ask, TestApp } from './app.ts'
import type { startIdentityProvider } from './identity-provider.ts'

/** A route of the interface, with a good, a bad and an oversize request. */
export type RouteCase = {
  method: string
  path: string
  access: 'public' | 'user' | 'webhook'
  good: Ask
  /** Changes the good request to what works for one user, and for nobody else. */
  prepare?: (given: Given) => Promise<Ask & { path?: string }>
  bad?: Ask & { path?: string; status: number }
  oversize?: Ask
}

type Given = {
  app: TestApp
  /** The user who makes the request. */
  user: Awaited<ReturnType<TestApp['register']>>
  identityProvider: Awaited<ReturnType<typeof startIdentityProvider>>
}

export const LONG = 'x'.repeat(70_000)

/** What anybody may read. */
export function publicRead(path: string): RouteCase {
  const bad = { headers: { env: 'two words' }, status: 400 }
  return { method: 'GET', path, access: 'public', good: {}, bad }
}
