import type { ServerRequests } from '../../support/server-requests.ts'

export const requests: ServerRequests = {
  'GET /api/server/subscriptions/v1': ({ userId }) => ({
    path: `/api/server/subscriptions/v1?userIds=${userId}`,
  }),
  'GET /api/server/subscriptions/v1/{userId}': ({ userId }) => ({
    path: `/api/server/subscriptions/v1/${userId}`,
  }),
  'GET /api/server/users/v1/{id}/grants': ({ userId }) => ({ path: grantsOf(userId) }),
  'POST /api/server/users/v1/{id}/grants': ({ userId }) => ({
    path: grantsOf(userId),
    json: { entitlementId: 'pro', until: null, reason: 'beta tester' },
  }),
  'DELETE /api/server/users/v1/{id}/grants/{grantId}': async ({ app, userId }) => {
    const grant = { userId, entitlementId: 'team', until: null, by: 'ann', reason: 'test' }
    const { id } = await app.services.grants.create(grant)
    return { path: `${grantsOf(userId)}/${id}` }
  },
}

function grantsOf(userId: string): string {
  return `/api/server/users/v1/${userId}/grants`
}
