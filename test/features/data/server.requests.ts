import type { ServerRequests } from '../../support/server-requests.ts'

export const requests: ServerRequests = {
  'GET /api/server/users/v1/{id}/data': ({ userId }) => ({ path: pathOf(userId) }),
  'PUT /api/server/users/v1/{id}/data': ({ userId }) => ({
    path: pathOf(userId),
    json: { score: 12 },
  }),
  'PATCH /api/server/users/v1/{id}/data': ({ userId }) => ({
    path: pathOf(userId),
    json: { score: null },
  }),
}

function pathOf(userId: string): string {
  return `/api/server/users/v1/${userId}/data`
}
