import type { ServerRequests } from '../../support/server-requests.ts'

const USERS = '/api/server/users/v1'

export const requests: ServerRequests = {
  'GET /api/server/users/v1': () => ({}),
  'GET /api/server/users/v1/{id}': ({ userId }) => ({ path: `${USERS}/${userId}` }),
  'POST /api/server/users/v1': () => ({ json: { email: 'new@example.com' } }),
  'PATCH /api/server/users/v1/{id}': ({ userId }) => ({
    path: `${USERS}/${userId}`,
    json: { emailVerified: true },
  }),
  'POST /api/server/users/v1/{id}/sign_out': ({ userId }) => ({
    path: `${USERS}/${userId}/sign_out`,
  }),
  'DELETE /api/server/users/v1/{id}': ({ userId }) => ({ path: `${USERS}/${userId}` }),
  'POST /api/server/tokens/v1/introspect': ({ accessToken }) => ({
    body: new URLSearchParams({ token: accessToken }),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  }),
}
