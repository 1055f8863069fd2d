import type { RouteCase } from '../../support/route-case.ts'

export const routes: RouteCase[] = [
  { method: 'GET', path: '/api/user/usage/v1', access: 'user', good: {} },
]
