import type { Frequent } from '../../support/built-queries.ts'

export const frequent: Frequent = ({ user, get, server }) => ({
  'read the usage': get('/api/user/usage/v1'),
  'use a limit': (n) =>
    server('POST', 'usage/v1', {
      json: { userId: user._id, limit: 'apiRequestLimit', amount: 1, idempotencyKey: `k${n}` },
    }),
})
