import { expect, test } from 'bun:test'
import { Elysia } from 'elysia'
import { allow, consoleGuard } from '../../../src/platform/http/console-guard.ts'

const OWNER = { id: '', operatorId: '', name: 'ann', role: 'owner' as const }
const HEADERS = { cookie: '__Host-homeport-console=x' }

test('refuses a route without declared roles, even to owners', async () => {
  const { guard, protect } = consoleGuard({
    checkSession: async () => ({ ...OWNER, provenAt: new Date(), isLocal: false }),
    baseUrl: null,
    findIp: () => '',
    now: () => new Date(),
  })
  const routes = new Elysia()
    .use(guard)
    .get('/declared', () => 'ok', allow('owner'))
    .get('/undeclared', () => 'ok')
    .onError(({ error }) => String(error))
  const { handle } = protect(routes)
  const ask = async (path: string) =>
    (await handle(new Request(`http://localhost${path}`, { headers: HEADERS }))).text()
  expect(await ask('/declared')).toBe('ok')
  expect(await ask('/undeclared')).toContain('Only owners can do this.')
})
