import { Elysia } from 'elysia'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { data } from '../../platform/http/envelope.ts'
import { MostUsedQuery, UserIdParam } from './model.ts'
import type { Usage } from './service.ts'

/** Shows operators what users have used. */
export function usageAdmin({ usage }: { usage: Usage }) {
  return new Elysia({ name: 'usage-admin', prefix: `${CONSOLE_API}/usage` })
    .get('', async ({ query }) => data(await usage.listMostUsed(query.limit)), {
      query: MostUsedQuery,
      ...allow('reader'),
    })
    .get('/:id', async ({ params }) => data(await usage.read(params.id)), {
      params: UserIdParam,
      ...allow('reader'),
    })
}
