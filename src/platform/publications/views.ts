import { Elysia, type TSchema, t } from 'elysia'
import { allow, CONSOLE_API } from '../http/console-guard.ts'
import { closedObject, data } from '../http/replies/envelope.ts'
import type { Published } from './publications.ts'

const VersionParam = closedObject({ version: t.Numeric({ minimum: 1 }) })
const HistoryQuery = closedObject({ before: t.Optional(t.Numeric({ minimum: 1 })) })

/** The console's routes to read one `kind` of content and its versions; the console builds its form from `schema`. */
export function publicationViews(
  kind: string,
  schema: TSchema,
  { readLive, find, history }: Pick<Published<unknown>, 'readLive' | 'find' | 'history'>,
) {
  return new Elysia({ name: `${kind}-publications`, prefix: `${CONSOLE_API}/${kind}` })
    .get('', async () => data({ ...(await readLive()), schema }), allow('reader'))
    .get('/history', async ({ query }) => data(await history(query.before)), {
      query: HistoryQuery,
      ...allow('reader'),
    })
    .get('/versions/:version', async ({ params }) => data(await find(params.version)), {
      params: VersionParam,
      ...allow('reader'),
    })
}
