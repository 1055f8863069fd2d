import { type Static, t } from 'elysia'
import {
  closedObject,
  createDataSchema,
  integer,
  literalUnion,
  nullable,
  openEnum,
  text,
  time,
} from '../../platform/http/replies/envelope.ts'
import { openQuery } from '../../platform/http/request/query.ts'

export const UploadQuery = t.Object({
  type: literalUnion(['supportTicket', 'publicAsset'], {
    description: '`supportTicket` is private, with signed URLs; `publicAsset` is a public image',
  }),
  compression: t.Optional(
    t.Boolean({
      default: false,
      description: 're-encode an image, unless it is small already',
      examples: [true],
    }),
  ),
  targetType: t.Optional(
    literalUnion(['jpg', 'jpeg', 'png', 'webp'], {
      description: 'the format that an image is converted to',
    }),
  ),
})

export const MAX_FILES = 10
const CONTENT_DETERMINES_TYPE = 'The content determines the type, not the file name or media type'

/** The body of an upload, for OpenAPI. It is parsed as a stream, without a schema. */
export const UploadRequestBody = {
  required: true,
  content: {
    'multipart/form-data': {
      schema: {
        type: 'object',
        properties: {
          file: {
            type: 'array',
            maxItems: MAX_FILES,
            items: { type: 'string', format: 'binary' },
            description: `the files; the field name does not matter. ${CONTENT_DETERMINES_TYPE}`,
            'x-simple': {
              type: 'string',
              format: 'binary',
              description: `a file; more parts with files may follow, ${MAX_FILES} in all. ${CONTENT_DETERMINES_TYPE}`,
            },
          },
        },
      },
    },
  },
} as const

/** Generators that find two content types send a file as JSON, so the second one is not part of `content`. */
export const RAW_UPLOAD_BODY = {
  description: 'one file as the whole body, with its name in `X-File-Name`',
  contentTypes: ['image/*', 'application/pdf', 'application/octet-stream'],
} as const

const bytes = { content: { '*/*': { schema: { type: 'string', format: 'binary' } } } } as const

const failure = (description: string) => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Failure' } } },
})

/** The responses from file URLs, for OpenAPI. */
export const FileResponses = {
  200: { description: 'The whole file', ...bytes },
  206: { description: 'The requested range', ...bytes },
  304: { description: 'Not modified' },
  400: failure('The request cannot be read'),
  404: failure('The file does not exist or is not accessible'),
  416: { description: 'The range is not satisfiable' },
  422: failure('The width is not supported, or the file is not an image'),
  503: failure('The variant cannot be created now. Try again'),
  507: failure('There is no space for the variant'),
} as const

const key = (options = {}) =>
  text('identifies the file', 'k3v9qw1x5c7b2n4m6j8h0g1f3d.webp', options)

export const FileParams = t.Object({ key: key() })

export const KeyQuery = t.Object({ key: key({ maxLength: 10_000 }) })

export const SignatureQuery = openQuery({
  expires: t.Optional(
    t.String({
      maxLength: 20,
      error: 'must be text of at most 20 characters',
      description: 'part of a signed URL',
      examples: ['1783000000000'],
    }),
  ),
  signature: t.Optional(
    t.String({
      maxLength: 64,
      error: 'must be text of at most 64 characters',
      description: 'part of a signed URL',
      examples: ['c2lnbmF0dXJl'],
    }),
  ),
  width: t.Optional(text('64, 128, 256, 512, 1024 or 2048 pixels', '256')),
  format: t.Optional(
    literalUnion(['webp', 'jpeg', 'png'], {
      description: 'default: from `Accept`, otherwise as stored',
    }),
  ),
})

const fileName = text('as sent, cleaned, with the extension of the stored type', 'photo.webp')
const itemType = text('media type of the stored file', 'image/webp')
const size = integer({ description: 'bytes of the stored file', examples: [48_213] })
const url = text(
  'the URL of the file: permanent for a public one, valid for 15 minutes for a private one',
  'https://api.example.com/files/k3v9qw1x5c7b2n4m6j8h0g1f3d.webp',
)
const expiresAt = nullable(time('when `url` expires; null for a public file', null))

export const AttachmentRecord = closedObject(
  {
    key: key(),
    fileName,
    itemType,
    url,
  },
  'Attachment',
  'a stored file',
)
export type AttachmentRecord = Static<typeof AttachmentRecord>

export const PageQuery = t.Object({
  limit: t.Optional(
    t.Integer({
      minimum: 1,
      maximum: 100,
      default: 50,
      description: 'the maximum number of files to return',
      examples: [50],
    }),
  ),
  after: t.Optional(
    text('`next` from the previous page', '1783000000000-k3v9qw1x5c7b2n4m6j8h0g1f3d.webp', {
      maxLength: 100,
    }),
  ),
})

export const ListedAttachment = closedObject(
  {
    ...AttachmentRecord.properties,
    type: openEnum(['supportTicket', 'publicAsset'], { description: 'the `type` of its upload' }),
    size,
    expiresAt,
    createdAt: time('when it was stored'),
  },
  'ListedAttachment',
  'a file in a list of files',
)

export const AttachmentPage = closedObject({
  ...createDataSchema(t.Array(ListedAttachment)).properties,
  next: t.Optional(
    t.String({
      description: '`after` for the next page; absent on the last page',
      examples: ['1783000000000-k3v9qw1x5c7b2n4m6j8h0g1f3d.webp'],
    }),
  ),
})

export const AttachmentDetails = closedObject(
  {
    key: key(),
    fileName,
    itemType,
    size,
    width: t.Optional(integer({ description: 'in pixels; only for images', examples: [1_920] })),
    height: t.Optional(integer({ description: 'in pixels; only for images', examples: [1_080] })),
    url,
    expiresAt,
    createdAt: time('when it was stored'),
  },
  'AttachmentDetails',
  'the details of a file',
)

export const attachmentExport = {
  attachments: t.Array(
    closedObject(
      {
        key: key(),
        type: ListedAttachment.properties.type,
        fileName,
        itemType,
        size,
        createdAt: time('when it was stored'),
        variants: t.Array(t.String(), {
          description: 'the keys of its other sizes and formats',
          examples: [['k3v9qw1x5c7b2n4m6j8h0g1f3d.webp.w256.webp']],
        }),
      },
      'ExportedAttachment',
      'a stored file',
    ),
    { description: 'the files, oldest first' },
  ),
  idempotencyKeys: t.Array(
    closedObject(
      {
        idempotencyKey: text('the `Idempotency-Key` of an upload', '5f0c6d3e'),
        expiresAt: time('when it expires'),
      },
      'ExportedIdempotencyKey',
      'an upload that can be retried',
    ),
    { description: 'uploads that can be retried without storing anything twice' },
  ),
}

export const attachmentTags = { Attachments: 'The signed-in user’s files' }
