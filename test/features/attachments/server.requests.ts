import type { ServerRequests } from '../../support/server-requests.ts'

export const requests: ServerRequests = {
  'GET /api/server/users/v1/{id}/files': ({ userId }) => ({
    path: `/api/server/users/v1/${userId}/files`,
  }),
}
