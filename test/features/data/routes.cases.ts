import { LONG, type RouteCase } from '../../support/route-case.ts'

const PATH = '/api/user/data/v1'

export const routes: RouteCase[] = [
  { method: 'GET', path: PATH, access: 'user', good: {} },
  {
    method: 'PUT',
    path: PATH,
    access: 'user',
    good: { json: { theme: 'dark' } },
    bad: { json: ['not an object'], status: 422 },
    oversize: { json: { text: LONG } },
  },
  {
    method: 'PATCH',
    path: PATH,
    access: 'user',
    good: { json: { theme: null } },
    bad: { json: null, status: 422 },
    oversize: { json: { text: LONG } },
  },
]
