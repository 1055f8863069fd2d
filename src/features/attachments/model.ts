import { type Static, t } from 'elysia'
import { oneOf, strict } from '../../http/envelope.ts'

export const UploadQuery = t.Object({
  type: oneOf('supportTicket', 'publicAsset'),
  compression: t.Optional(t.Boolean({ default: false })),
  targetType: t.Optional(oneOf('jpg', 'jpeg', 'png', 'webp')),
})

/** The body of an upload as OpenAPI says it; it is parsed as it streams in, not by a schema. */
export const UploadRequestBody = {
  required: true,
  content: {
    'multipart/form-data': {
      schema: {
        type: 'object',
        properties: {
          file: {
            type: 'array',
            items: { type: 'string', format: 'binary' },
            description: '1 to 10 files under any name',
          },
        },
      },
    },
    'image/*': { schema: { type: 'string', format: 'binary' } },
  },
} as const

const bytes = { content: { '*/*': { schema: { type: 'string', format: 'binary' } } } } as const

/** The replies of a file's URL as OpenAPI says them. */
export const FileResponses = {
  200: { description: 'The whole file', ...bytes },
  206: { description: 'The range that was asked for', ...bytes },
  304: { description: 'Not modified' },
  404: { description: 'No such file, or no right to it' },
  416: { description: 'No such range' },
} as const

export const KeyQuery = t.Object({ key: t.String({ maxLength: 10_000 }) })

export const SignatureQuery = t.Object({
  expires: t.Optional(t.String({ maxLength: 20 })),
  signature: t.Optional(t.String({ maxLength: 64 })),
  width: t.Optional(t.String({ description: '64, 128, 256, 512, 1024 or 2048' })),
  format: t.Optional(oneOf('webp', 'jpeg', 'png')),
})

export const AttachmentRecord = strict(
  {
    key: t.String(),
    fileName: t.String(),
    itemType: t.String({ description: 'media type of what is stored' }),
    url: t.String(),
  },
  'Attachment',
)
export type AttachmentRecord = Static<typeof AttachmentRecord>

export const PageQuery = t.Object({
  limit: t.Optional(t.Integer({ minimum: 1, maximum: 100, default: 50 })),
  after: t.Optional(t.String({ maxLength: 100, description: '`next` of the page before' })),
})

const ListedAttachment = strict(
  {
    ...AttachmentRecord.properties,
    type: t.String(),
    size: t.Integer({ description: 'bytes' }),
    expiresAt: t.Union([t.String({ format: 'date-time' }), t.Null()]),
    createdAt: t.String({ format: 'date-time' }),
  },
  'ListedAttachment',
)

export const AttachmentPage = strict({
  code: t.String(),
  response: t.Array(ListedAttachment),
  next: t.Optional(t.String({ description: '`after` of the next page; absent on the last one' })),
})

export const AttachmentDetails = strict(
  {
    key: t.String(),
    fileName: t.String(),
    itemType: t.String(),
    size: t.Integer({ description: 'bytes' }),
    width: t.Optional(t.Integer()),
    height: t.Optional(t.Integer()),
    url: t.String(),
    expiresAt: t.Union([t.String({ format: 'date-time' }), t.Null()]),
    createdAt: t.String({ format: 'date-time' }),
  },
  'AttachmentDetails',
)

export const attachmentTags = { Attachments: 'Files of the signed-in person' }
