import { Elysia } from 'elysia'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { data } from '../../platform/http/replies/envelope.ts'
import { UserIdParam } from './model.ts'
import type { Usage } from './service.ts'

/** Shows operators what a user has used. */
export function usageConsole({ usage }: { usage: Usage }) {
  return new Elysia({ name: 'usage-console', prefix: `${CONSOLE_API}/usage` }).get(
    '/:id',
    async ({ params }) => data(await usage.read(params.id)),
    { params: UserIdParam, ...allow('reader') },
  )
}
