import { type Static, t } from 'elysia'
import { oneOf, strict } from '../../http/envelope.ts'

export const UploadQuery = t.Object({
  type: oneOf('supportTicket', 'publicAsset'),
  compression: t.Optional(t.Boolean({ default: false })),
  targetType: t.Optional(oneOf('jpg', 'jpeg', 'png', 'webp')),
})

export const KeyQuery = t.Object({ key: t.String({ maxLength: 10_000 }) })

export const SignatureQuery = t.Object({
  expires: t.Optional(t.String({ maxLength: 20 })),
  signature: t.Optional(t.String({ maxLength: 64 })),
})

export const AttachmentRecord = strict({
  key: t.String(),
  fileName: t.String(),
  itemType: t.String({ description: 'media type of what is stored' }),
  url: t.String(),
})
export type AttachmentRecord = Static<typeof AttachmentRecord>

export const AttachmentDetails = strict({
  key: t.String(),
  fileName: t.String(),
  itemType: t.String(),
  size: t.Integer({ description: 'bytes' }),
  width: t.Optional(t.Integer()),
  height: t.Optional(t.Integer()),
  url: t.String(),
  expiresAt: t.Union([t.String({ format: 'date-time' }), t.Null()]),
  createdAt: t.String({ format: 'date-time' }),
})
