import { Elysia } from 'elysia'
import type { ConsoleContext } from '../../platform/feature.ts'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { data } from '../../platform/http/replies/envelope.ts'
import { MostUsedQuery, UserIdParam } from './model.ts'
import type { Usage } from './service.ts'

type UsageAdminDeps = { usage: Usage } & Pick<ConsoleContext, 'exportCsv' | 'namesOf'>

/** Shows operators what users have used. */
export function usageAdmin({ usage, exportCsv, namesOf }: UsageAdminDeps) {
  return new Elysia({ name: 'usage-admin', prefix: `${CONSOLE_API}/usage` })
    .get('', async ({ query }) => data(await listMostUsed(query.limit)), {
      query: MostUsedQuery,
      ...allow('reader'),
    })
    .get(
      '/export.csv',
      (context) => {
        const read = async () => {
          const { name: limit, users, people } = await listMostUsed(context.query.limit)
          return users.map((user) => ({ ...user, limit, name: people[user.userId] }))
        }
        return exportCsv(context, { name: 'usage', isPersonal: true, columns: COLUMNS, read })
      },
      { query: MostUsedQuery, ...allow('operator', 'stepUp') },
    )
    .get('/:id', async ({ params }) => data(await usage.read(params.id)), {
      params: UserIdParam,
      ...allow('reader'),
    })

  async function listMostUsed(limit: string | undefined) {
    const found = await usage.listMostUsed(limit)
    return { ...found, people: await namesOf(found.users.map(({ userId }) => userId)) }
  }
}

type ExportedUser = Awaited<ReturnType<Usage['listMostUsed']>>['users'][number] & {
  limit: string
  name: string | undefined
}

/** The columns of an exported list. */
const COLUMNS: Record<string, (user: ExportedUser) => unknown> = {
  limit: ({ limit }) => limit,
  user_id: ({ userId }) => userId,
  user: ({ name }) => name,
  used: ({ used }) => used,
  has_reached_limit: ({ hasReachedLimit }) => hasReachedLimit,
  resets: ({ resetsAt }) => resetsAt,
}
