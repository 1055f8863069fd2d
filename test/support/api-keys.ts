import { SCOPES, type Scope } from '../../src/lib/scopes.ts'
import type { Ask, TestApp } from './app.ts'

/** Creates a client of the server API with a new key. */
export async function serverClient(app: TestApp, scopes: readonly Scope[] = SCOPES) {
  const { secret } = await createKey(app, { scopes: [...scopes] })
  return (method: string, path: string, options: Ask = {}) =>
    app.ask(method, `/api/server/${path}`, { token: secret, ...options })
}

/** Creates a key with every scope, unless `changes` says otherwise. */
export function createKey(
  { services }: TestApp,
  changes: Partial<Parameters<TestApp['services']['apiKeys']['create']>[0]> = {},
) {
  return services.apiKeys.create({
    name: `key ${crypto.randomUUID()}`,
    scopes: [...SCOPES],
    networks: [],
    expiresInMs: null,
    requestsPerMinute: null,
    ...changes,
  })
}
