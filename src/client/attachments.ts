import type { Progress } from './deadline.ts'
import type { CallOptions, Message, PageInput } from './shared-types.ts'

/** `supportTicket` is private, with signed URLs; `publicAsset` is an image that anyone can open. */
export type AttachmentType = 'supportTicket' | 'publicAsset'

/** A stored file. */
export type Attachment = {
  key: string
  /** The name it was uploaded with, cleaned, with the extension of the stored format. */
  fileName: string
  /** Media type of the stored file. */
  itemType: string
  /** Where to download the file. Permanent for a public file; valid for 15 minutes for a private one. */
  url: string
}

/** A file in a page of files. */
export type ListedAttachment = Attachment & {
  /** `supportTicket` or `publicAsset`; later server versions may add others. */
  type: string
  /** Bytes. */
  size: number
  /** When `url` expires, ISO 8601; null for a public file, whose `url` is permanent. */
  expiresAt: string | null
  /** ISO 8601. */
  createdAt: string
}

/** A page of files, newest first. */
export type AttachmentPage = {
  attachments: ListedAttachment[]
  /** Pass it as `after` to get the next page; null on the last page. */
  next: string | null
}

/** A file's details, with a fresh URL. */
export type AttachmentDetails = Attachment & {
  /** Bytes. */
  size: number
  /** Pixels, for images only. */
  width?: number
  height?: number
  /** When `url` expires, ISO 8601; null for a public file, whose `url` is permanent. */
  expiresAt: string | null
  /** ISO 8601. */
  createdAt: string
}

/** A file to upload: a browser's `File`, bytes with a name, or a file on a phone (React Native). */
export type UploadFile =
  | (Blob & { name: string })
  | { name: string; type?: string; data: Blob | ArrayBuffer | Uint8Array }
  | PhoneFile

/** A file on a phone, as React Native describes it: pickers and the camera return its `uri`. */
export type PhoneFile = { uri: string; name: string; type?: string }

/** The files of an upload, and its options. */
export type UploadInput = {
  type: AttachmentType
  /** Re-encodes images to make them smaller. */
  compression?: boolean
  /** The format to convert images to. */
  targetType?: 'jpg' | 'jpeg' | 'png' | 'webp'
  files: UploadFile[]
  /** Retrying an upload with the same key stores nothing twice. */
  idempotencyKey?: string
  /** Called as bytes are sent, where the platform reports it: browsers and React Native. */
  onProgress?: (progress: Progress) => void
}

/** The user's files, as part of a data export. */
export type AttachmentExport = {
  /** Oldest first. */
  attachments: {
    key: string
    type: string
    fileName: string
    itemType: string
    /** Bytes. */
    size: number
    /** ISO 8601. */
    createdAt: string
    /** The keys of its other sizes and formats. */
    variants: string[]
  }[]
  /** The idempotency keys of recent uploads, which can be retried safely. */
  idempotencyKeys: { idempotencyKey: string; expiresAt: string }[]
}

/** The signed-in user's files. */
export type AttachmentFunctions = {
  /** Uploads 1 to 10 files of up to 25 MiB each. Throws `unsupported_media_type`, `payload_too_large`, `quota_exceeded`, `image_unreadable`, `image_too_large`, `insufficient_storage`. */
  uploadAttachments: (upload: UploadInput, options?: CallOptions) => Promise<Attachment[]>
  /** Returns a page of the user's files, newest first. */
  listAttachments: (page?: PageInput, options?: CallOptions) => Promise<AttachmentPage>
  /** Returns a file with a fresh URL. Throws `not_found`. */
  readAttachment: (file: { key: string }, options?: CallOptions) => Promise<AttachmentDetails>
  /** Deletes a file. Throws `not_found`. */
  deleteAttachment: (file: { key: string }, options?: CallOptions) => Promise<Message>
}
