import { Elysia, t } from 'elysia'
import { allow, CONSOLE_API, type RecordAction } from '../../platform/http/console-guard.ts'
import { closedObject, data } from '../../platform/http/envelope.ts'
import type { Listing } from './listing.ts'
import type { Attachments } from './service.ts'
import type { Usage } from './usage.ts'

type AttachmentsAdminDeps = {
  attachments: Attachments
  listing: Listing
  usage: Usage
  baseUrlOf: (request: Request) => string
  record: RecordAction
}

const PAGE_SIZE = 50
const FileParams = closedObject({
  id: t.String({ maxLength: 100 }),
  key: t.String({ maxLength: 40 }),
})

/** Users' files, and the users who store the most. */
export function attachmentsAdmin(deps: AttachmentsAdminDeps) {
  const { attachments, listing, usage, baseUrlOf, record } = deps
  return new Elysia({ name: 'attachments-admin', prefix: CONSOLE_API })
    .get('/files', async () => data(await usage.read()), allow('reader'))
    .get(
      '/people/:id/files',
      async ({ request, params: { id }, query }) => {
        const page = { limit: PAGE_SIZE, after: query.after ?? null }
        const { records, next } = await listing.page(id, page, baseUrlOf(request))
        // A private file is opened only through `/open`, which requires a step-up.
        const listed = records.map((file) =>
          file.expiresAt === null ? file : { ...file, url: null },
        )
        return data({ records: listed, next })
      },
      {
        params: closedObject({ id: t.String({ maxLength: 100 }) }),
        query: closedObject({ after: t.Optional(t.String({ maxLength: 100 })) }),
        ...allow('reader'),
      },
    )
    .get(
      '/people/:id/files/:key/open',
      async ({ request, params: { id, key }, redirect }) => {
        const { fileName, url } = await attachments.describe(id, key, baseUrlOf(request))
        await record(request, { action: 'files.open', target: id, after: { key, fileName } })
        return redirect(url, 303)
      },
      { params: FileParams, ...allow('operator', 'stepUp') },
    )
    .post(
      '/people/:id/files/:key/delete',
      async ({ request, params: { id, key } }) => {
        const { fileName, size } = await attachments.describe(id, key, '')
        await attachments.remove(id, key)
        const before = { key, fileName, size }
        await record(request, { action: 'files.delete', target: id, before })
        return data(null)
      },
      { params: FileParams, ...allow('operator', 'stepUp') },
    )
}
