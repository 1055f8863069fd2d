import type { Progress } from './deadline.ts'
import type { Attachment, AttachmentDetails, ListedAttachment } from './models.ts'
import type { CallOptions, Message, PageInput } from './shared-types.ts'

/** `supportTicket` is private, with signed URLs; `publicAsset` is an image that anyone can open. */
export type AttachmentType = 'supportTicket' | 'publicAsset'

/** A page of files, newest first. */
export type AttachmentPage = {
  attachments: ListedAttachment[]
  /** Pass it as `after` to get the next page; null on the last page. */
  next: string | null
}

/** A file to upload: a browser's `File`, bytes with a name, or a file on a phone (React Native). */
export type UploadFile =
  | (Blob & { name: string })
  | { name: string; type?: string | undefined; data: Blob | ArrayBuffer | Uint8Array }
  | PhoneFile

/** A file on a phone, as React Native describes it: pickers and the camera return its `uri`. */
export type PhoneFile = { uri: string; name: string; type?: string | undefined }

/** The files of an upload, and its options. */
export type UploadInput = {
  type: AttachmentType
  /** Re-encodes images to make them smaller. */
  compression?: boolean | undefined
  /** The format to convert images to. */
  targetType?: 'jpg' | 'jpeg' | 'png' | 'webp' | undefined
  files: UploadFile[]
  /** Retrying an upload with the same key stores nothing twice. */
  idempotencyKey?: string | undefined
  /** Called as bytes are sent, where the platform reports it: browsers and React Native. */
  onProgress?: ((progress: Progress) => void) | undefined
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
