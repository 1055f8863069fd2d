import { Elysia } from 'elysia'
import { notFound } from '../../../lib/errors.ts'
import { type ScopeGuard, SERVER_API, UserParams } from '../../../platform/http/api-key-guard.ts'
import { data, responses } from '../../../platform/http/replies/envelope.ts'
import type { Listing } from '../listing.ts'
import { AttachmentPage, PageQuery } from '../model.ts'

type ServerAttachmentsDeps = {
  listing: Listing
  isUser: (id: string) => Promise<boolean>
  /** The base of file URLs. */
  findBaseUrl: (request: Request) => string
  scopeGuard: ScopeGuard
}

const PAGE_SIZE = 50

/** The route with which the app's other servers, such as a helpdesk, open a user's files. */
export function serverAttachmentRoutes({
  listing,
  isUser,
  findBaseUrl,
  scopeGuard,
}: ServerAttachmentsDeps) {
  return new Elysia({ name: 'server-attachments' }).use(scopeGuard).get(
    `${SERVER_API}/users/v1/:id/files`,
    async ({ params: { id }, query: { limit, after }, request }) => {
      const page = { limit: limit ?? PAGE_SIZE, after }
      const { records, next } = await listing.page(id, page, findBaseUrl(request))
      if (records.length === 0 && !(await isUser(id))) throw notFound()
      return { ...data(records), ...(next === null ? {} : { next }) }
    },
    {
      scope: 'files:read',
      params: UserParams,
      query: PageQuery,
      response: responses(AttachmentPage, 400, 401, 403, 404, 422, 429),
      detail: {
        tags: ['Attachments'],
        operationId: 'listUserFiles',
        summary: 'A user’s files, newest first',
        description:
          'A page of files with URLs that open them: those of a `supportTicket` for 15 minutes. To get the next page, pass `next` (beside `response`) as `after`.',
      },
    },
  )
}
