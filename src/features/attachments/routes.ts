import { Elysia, t } from 'elysia'
import type { authenticate } from '../../http/authenticate.ts'
import { DataOf, data, Message, message, responses } from '../../http/envelope.ts'
import { originOf } from '../../http/request-url.ts'
import type { Files } from './files.ts'
import {
  AttachmentDetails,
  AttachmentRecord,
  FileResponses,
  KeyQuery,
  SignatureQuery,
  UploadQuery,
  UploadRequestBody,
} from './model.ts'
import { serveFile } from './serve.ts'
import type { Attachments } from './service.ts'
import { receiveUploads } from './upload.ts'

const PATH = '/api/user/attachments/v1'
const tags = ['Attachments']
/** Seconds that Bun waits on a slow phone; the default would cut it off. */
const UPLOAD_TIMEOUT = 255

export type AttachmentRoutesDeps = {
  attachments: Attachments
  files: Pick<Files, 'receive'>
  baseUrl: string | null
  signedIn: ReturnType<typeof authenticate>
}

export function attachmentRoutes({ attachments, files, baseUrl, signedIn }: AttachmentRoutesDeps) {
  return new Elysia({ name: 'attachments' })
    .use(signedIn)
    .post(
      PATH,
      async ({ session, query, request, server }) => {
        server?.timeout(request, UPLOAD_TIMEOUT)
        const base = baseOf(request)
        const uploads = await receiveUploads(request, files.receive, attachments.discard)
        const { type, compression, targetType } = query
        const wish = {
          type,
          compression: compression ?? false,
          targetType: targetType === 'jpg' ? 'jpeg' : (targetType ?? null),
        } as const
        return data(await attachments.store(session.userId, uploads, wish, base))
      },
      {
        parse: 'none',
        query: UploadQuery,
        signedIn: true,
        response: responses(DataOf(t.Array(AttachmentRecord)), 400, 401, 413, 415, 422, 503, 507),
        detail: {
          tags,
          operationId: 'uploadAttachments',
          summary: 'Upload files',
          requestBody: UploadRequestBody as never,
        },
      },
    )
    .delete(
      PATH,
      async ({ session, query }) => {
        await attachments.remove(session.userId, query.key)
        return message('The file is gone.')
      },
      {
        parse: 'none',
        query: KeyQuery,
        signedIn: true,
        response: responses(Message, 400, 401, 404, 422, 503),
        detail: { tags, operationId: 'deleteAttachment', summary: 'Delete a file' },
      },
    )
    .get(
      `${PATH}/download`,
      async ({ session, query, request }) =>
        data(await attachments.describe(session.userId, query.key, baseOf(request))),
      {
        query: KeyQuery,
        signedIn: true,
        response: responses(DataOf(AttachmentDetails), 400, 401, 404, 422),
        detail: { tags, operationId: 'readAttachment', summary: 'A file and a fresh URL of it' },
      },
    )
    .get(
      '/files/:key',
      async ({ params, query, request, set }) => {
        const opened = await attachments.open(params.key, query.expires, query.signature)
        return serveFile(opened, { request, set })
      },
      {
        query: SignatureQuery,
        detail: {
          tags,
          operationId: 'readFile',
          summary: 'The bytes of a file',
          responses: FileResponses as never,
        },
      },
    )

  function baseOf(request: Request): string {
    return baseUrl ?? originOf(request)
  }
}
