import { Elysia, t } from 'elysia'
import { type AppError, invalidField } from '../../lib/errors.ts'
import type { authenticate } from '../../platform/http/authenticate.ts'
import { UPLOAD_TIMEOUT_SECONDS } from '../../platform/http/body/body.ts'
import { varyBy } from '../../platform/http/cors.ts'
import {
  createDataSchema,
  data,
  Message,
  message,
  responses,
} from '../../platform/http/replies/envelope.ts'
import { malformed } from '../../platform/http/replies/errors.ts'
import type { FindIp } from '../../platform/http/request/client-address.ts'
import { optionalHeader } from '../../platform/http/request/request-headers.ts'
import { WIDTHS } from './images/variants.ts'
import type { Listing } from './listing.ts'
import {
  AttachmentDetails,
  AttachmentPage,
  AttachmentRecord,
  FileParams,
  FileResponses,
  KeyQuery,
  PageQuery,
  RAW_UPLOAD_BODY,
  SignatureQuery,
  UploadQuery,
  UploadRequestBody,
} from './model.ts'
import type { Attachments } from './service.ts'
import { serveFile } from './storage/serve.ts'
import type { AdmitUpload } from './upload/admission.ts'
import { readUploadSize, receiveUploads } from './upload/receive-uploads.ts'
import type { Staging } from './upload/staging.ts'

export const ATTACHMENTS_PATH = '/api/user/attachments/v1'
const PAGE_SIZE = 50
const tags = ['Attachments']

type AttachmentRoutesDeps = {
  attachments: Attachments
  listing: Listing
  staging: Staging
  admitUpload: AdmitUpload
  isRemote: boolean
  findBaseUrl: (request: Request) => string
  findIp: FindIp
  signedIn: ReturnType<typeof authenticate>
}

export function attachmentRoutes({
  attachments,
  listing,
  staging,
  admitUpload,
  isRemote,
  findBaseUrl,
  findIp,
  signedIn,
}: AttachmentRoutesDeps) {
  return new Elysia({ name: 'attachments' })
    .use(signedIn)
    .post(
      ATTACHMENTS_PATH,
      async ({ session, query, request, server }) => {
        const from = { baseUrl: findBaseUrl(request), ip: findIp(request, server) }
        const { type, compression, targetType } = query
        const options = {
          type,
          compression: compression ?? false,
          targetType: targetType === 'jpg' ? 'jpeg' : (targetType ?? null),
        } as const
        const receive = () => receiveUploads(request, staging)
        const retryKey = readIdempotencyKey(request)
        const requester = { userId: session.userId, ip: from.ip }
        using _admission = await admitUpload(requester, readUploadSize(request), request.signal)
        return data(await attachments.store(session.userId, retryKey, receive, options, from))
      },
      {
        parse: 'none',
        query: UploadQuery,
        signedIn: true,
        response: responses(
          createDataSchema(t.Array(AttachmentRecord)),
          400,
          401,
          403,
          413,
          415,
          422,
          507,
        ),
        detail: {
          tags,
          operationId: 'uploadAttachments',
          summary: 'Upload files',
          description:
            '1 to 10 files of at most 25 MiB as a form, or one as the raw body of any media type with its name in `X-File-Name` (`x-raw-body`). Images (JPEG, PNG, WebP, HEIC) are rotated upright, stripped of metadata and converted as requested; HEIC becomes JPEG unless `targetType` says otherwise. With `compression` and no other format, an image never becomes larger. A `supportTicket` without `compression` and `targetType` is stored unchanged, except HEIC.',
          requestBody: UploadRequestBody as never,
          'x-raw-body': RAW_UPLOAD_BODY,
          'x-request-headers': ['IdempotencyKey', 'XFileName'],
        },
      },
    )
    .get(
      ATTACHMENTS_PATH,
      async ({ session, query: { limit, after }, request }) => {
        const page = { limit: limit ?? PAGE_SIZE, after }
        const { records, next } = await listing.page(session.userId, page, findBaseUrl(request))
        return { ...data(records), ...(next === null ? {} : { next }) }
      },
      {
        query: PageQuery,
        signedIn: true,
        response: responses(AttachmentPage, 400, 401, 422),
        detail: {
          tags,
          operationId: 'listAttachments',
          summary: 'Your files, newest first',
          description:
            'A page of files with fresh URLs. To get the next page, pass `next` (beside `response`) as `after`.',
        },
      },
    )
    .delete(
      ATTACHMENTS_PATH,
      async ({ session, query }) => {
        await attachments.remove(session.userId, query.key)
        return message('The file has been deleted.')
      },
      {
        parse: 'none',
        query: KeyQuery,
        signedIn: true,
        response: responses(Message, 400, 401, 404, 422),
        detail: {
          tags,
          operationId: 'deleteAttachment',
          summary: 'Delete a file',
          description: 'Deletes the file and its variants. Its URL stops working.',
        },
      },
    )
    .get(
      `${ATTACHMENTS_PATH}/download`,
      async ({ session, query, request }) =>
        data(await attachments.toDetails(session.userId, query.key, findBaseUrl(request))),
      {
        query: KeyQuery,
        signedIn: true,
        response: responses(createDataSchema(AttachmentDetails), 400, 401, 404, 422),
        detail: {
          tags,
          operationId: 'readAttachment',
          summary: 'A file with a fresh URL',
          description: 'The `url` of a private file works for 15 minutes.',
        },
      },
    )
    .get(
      '/files/:key',
      async ({ params, query, request, server, set }) => {
        const { expires, signature, width, format } = query
        if (isRemote) server?.timeout(request, UPLOAD_TIMEOUT_SECONDS)
        if (width === undefined && format === undefined) {
          return serveFile(await attachments.open(params.key, expires, signature), { request, set })
        }
        if (width === undefined)
          throw invalidWidth('Also specify a width: `format` applies only to variants.')
        const wanted = { width: parseWidth(width), format: format ?? acceptedFormat(request) }
        const onWait = () => {
          server?.timeout(request, UPLOAD_TIMEOUT_SECONDS)
          return findIp(request, server)
        }
        const opened = await attachments.openVariant(params.key, expires, signature, wanted, onWait)
        if (format === undefined) varyBy(set, 'Accept')
        return serveFile(opened, { request, set })
      },
      {
        params: FileParams,
        query: SignatureQuery,
        detail: {
          tags,
          operationId: 'readFile',
          summary: 'The bytes of a file',
          description:
            'Supports ranges, HEAD and If-None-Match. `width` returns an image in another size.',
          responses: FileResponses as never,
        },
      },
    )
}

/** Throws for an unsupported width, rather than serving the original. */
function parseWidth(width: string): number {
  const known = WIDTHS.find((candidate) => String(candidate) === width)
  if (known !== undefined) return known
  throw invalidWidth('There is no variant of that width.')
}

function invalidWidth(sentence: string): AppError {
  return invalidField('width', `must be one of ${WIDTHS.join(', ')}`, sentence)
}

/** WebP if the client accepts it, otherwise the format of the original. */
function acceptedFormat({ headers }: Request): 'webp' | null {
  return headers.get('accept')?.includes('image/webp') ? 'webp' : null
}

/** The key that identifies a retry: 1 to 64 visible ASCII characters. */
function readIdempotencyKey({ headers }: Request): string | null {
  const key = optionalHeader(headers, 'idempotency-key')
  if (key === null || /^[\x21-\x7e]{1,64}$/.test(key)) return key
  throw malformed('The Idempotency-Key must be 1 to 64 visible ASCII characters.')
}
