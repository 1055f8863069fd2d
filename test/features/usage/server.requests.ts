import type { ServerRequests } from '../../support/server-requests.ts'

export const requests: ServerRequests = {
  'GET /api/server/usage/v1': ({ userId }) => ({ path: `/api/server/usage/v1?userId=${userId}` }),
  'POST /api/server/usage/v1': ({ userId }) => ({
    json: { userId, limit: 'appLimit', amount: 1 },
  }),
}
