import { expect, test } from 'bun:test'
import { createRestartingApp } from '../../src/server/app.ts'
import { createTestApp } from '../support/app.ts'

const ORIGIN = 'https://app.example.com'

test('503 responses during a restart have the standard headers and are logged with their status', async () => {
  await using app = await createTestApp({ CORS_ORIGINS: ORIGIN, LOG_LEVEL: 'info' })
  const request = new Request('http://localhost/api/user/profile/v1', {
    method: 'PATCH',
    body: '{',
    headers: { origin: ORIGIN, 'accept-language': 'de', 'x-request-id': 'phone-1' },
  })
  const reply = await createRestartingApp(app.services).fetch(request)
  const { status, headers } = reply
  const shown = ['access-control-allow-origin', 'x-request-id', 'retry-after', 'cache-control']
  expect([status, ...shown.map((name) => headers.get(name))]).toEqual([
    503,
    ORIGIN,
    'phone-1',
    '1',
    'no-store',
  ])
  expect(await reply.json()).toMatchObject({ code: 'unavailable', requestId: 'phone-1' })
  await app.logged(/"requestId":"phone-1".*"status":503/)
})
