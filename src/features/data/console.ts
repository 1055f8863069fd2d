import { Elysia, t } from 'elysia'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { closedObject, data } from '../../platform/http/replies/envelope.ts'
import type { DataService } from './service.ts'

export function dataConsole({ documents }: { documents: DataService }) {
  return new Elysia({ name: 'data-console', prefix: CONSOLE_API }).get(
    '/people/:id/data',
    async ({ params: { id } }) => data(await documents.list(id)),
    { params: closedObject({ id: t.String({ maxLength: 100 }) }), ...allow('reader') },
  )
}
