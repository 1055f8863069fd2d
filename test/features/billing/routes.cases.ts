import type { RouteCase } from '../../support/route-case.ts'

export const routes: RouteCase[] = [
  {
    method: 'POST',
    path: '/api/webhooks/billing/v1',
    access: 'webhook',
    good: { json: { event: { id: 'E', type: 'RENEWAL' } } },
    bad: { json: { event: {} }, status: 400 },
    oversize: { json: { event: { type: 'RENEWAL', fill: 'x'.repeat(300_000) } } },
  },
  {
    method: 'GET',
    path: '/api/user/subscription/v1',
    access: 'user',
    good: {},
    bad: { path: '/api/user/subscription/v1?environment=other', status: 422 },
  },
]
