import type { Frequent } from '../../support/built-queries.ts'

const PATH = '/api/user/data/v1'

export const frequent: Frequent = ({ user, get, change, server }) => ({
  'read the data': get(PATH),
  'replace the data': change('PUT', PATH, (n) => ({ n })),
  'patch the data': change('PATCH', PATH, (n) => ({ m: n })),
  'replace the server data': (n) => server('PUT', `users/v1/${user._id}/data`, { json: { n } }),
})
