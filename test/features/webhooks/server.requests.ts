import type { TestApp } from '../../support/app.ts'
import type { ServerRequests } from '../../support/server-requests.ts'

const PATH = '/api/server/webhooks/v1'

export const requests: ServerRequests = {
  'GET /api/server/webhooks/v1': () => ({}),
  'POST /api/server/webhooks/v1': () => ({
    json: { url: 'https://example.com/hooks', events: ['all'] },
  }),
  'PATCH /api/server/webhooks/v1/{id}': async ({ app }) => ({
    path: await addEndpoint(app),
    json: { description: 'CRM' },
  }),
  'POST /api/server/webhooks/v1/{id}/resend_failed': async ({ app }) => ({
    path: `${await addEndpoint(app)}/resend_failed`,
  }),
  'POST /api/server/webhooks/v1/{id}/test': async ({ app }) => ({
    path: `${await addEndpoint(app)}/test`,
  }),
  'DELETE /api/server/webhooks/v1/{id}': async ({ app }) => ({ path: await addEndpoint(app) }),
}

/** The path of a new endpoint. */
async function addEndpoint({ services }: TestApp): Promise<string> {
  const { endpoint } = await services.webhooks.endpoints.add({
    url: 'https://127.0.0.1:9/hooks',
    events: ['test'],
  })
  return `${PATH}/${endpoint.id}`
}
