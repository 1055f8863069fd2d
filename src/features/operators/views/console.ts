import { Elysia, t } from 'elysia'
import { json } from '../../../platform/http/body/body.ts'
import { allow, CONSOLE_API, findOperator } from '../../../platform/http/console-guard.ts'
import { closedObject, data } from '../../../platform/http/replies/envelope.ts'
import type { Views } from './views.ts'

const Name = t.String({
  pattern: '\\S',
  maxLength: 64,
  error: 'must be a name of 1 to 64 characters',
})
const NewView = closedObject({
  name: Name,
  path: t.String({ pattern: '^[a-z-]{1,40}$' }),
  search: t.String({ pattern: '^(\\?.*)?$', maxLength: 1_000 }),
})
const NamedView = closedObject({ name: Name })

/** The operator's own saved views. They change nothing for anyone else, so they are not in the audit log. */
export function viewsConsole(views: Views) {
  return new Elysia({ name: 'views-console', prefix: `${CONSOLE_API}/me/views` })
    .get('', async ({ request }) => data(await views.list(findOperator(request).operatorId)), {
      ...allow('self'),
    })
    .post(
      '',
      async ({ request, body }) => {
        await views.save(findOperator(request).operatorId, { ...body, name: body.name.trim() })
        return data(null)
      },
      { ...json(NewView), ...allow('self') },
    )
    .post(
      '/remove',
      async ({ request, body }) => {
        await views.remove(findOperator(request).operatorId, body.name)
        return data(null)
      },
      { ...json(NamedView), ...allow('self') },
    )
}
