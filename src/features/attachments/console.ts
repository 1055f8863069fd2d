import { Elysia, t } from 'elysia'
import type { ConsoleContext } from '../../platform/feature.ts'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { closedObject } from '../../platform/http/replies/envelope.ts'
import type { Attachments } from './service.ts'

type AttachmentsConsoleDeps = {
  attachments: Attachments
} & Pick<ConsoleContext, 'record' | 'findBaseUrl'>

const FileParams = closedObject({
  id: t.String({ maxLength: 100 }),
  key: t.String({ maxLength: 40 }),
})

/** Opens users' files. */
export function attachmentsConsole(deps: AttachmentsConsoleDeps) {
  const { attachments, findBaseUrl, record } = deps
  return new Elysia({ name: 'attachments-console', prefix: CONSOLE_API }).get(
    '/people/:id/files/:key/open',
    async ({ request, params: { id, key }, redirect }) => {
      const { url } = await attachments.toDetails(id, key, findBaseUrl(request))
      await record(request, { action: 'files.open', target: id, after: { key } })
      return redirect(url, 303)
    },
    { params: FileParams, ...allow('operator', 'stepUp') },
  )
}
