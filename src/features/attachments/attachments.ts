import { join } from 'node:path'
import type { Log } from '../../lib/log.ts'
import type { Reader, Tx } from '../../platform/db/db.ts'
import { createImageQueue } from './images/image-queue.ts'
import { createVariants } from './images/variants.ts'
import { createListing } from './listing.ts'
import { createOrphans } from './orphans.ts'
import type { AttachmentsDb } from './schema.ts'
import { createAttachments } from './service.ts'
import type { DiskSpace } from './storage/disk-space.ts'
import { createFileUrls } from './storage/file-urls.ts'
import type { Files } from './storage/files.ts'
import { createUrlSigner } from './storage/signed-url.ts'
import { createAdmission } from './upload/admission.ts'
import { createIdempotencyStore } from './upload/idempotency.ts'
import { createPreparer } from './upload/prepare-upload.ts'
import { createQuota } from './upload/quota.ts'
import { createStaging } from './upload/staging.ts'
import { createUsage } from './usage.ts'

type AttachmentPartsDeps = {
  db: AttachmentsDb
  files: Files
  /** Where files are kept, and made before they are. */
  folder: string
  space: DiskSpace
  quota: { maxBytes: number; maxCount: number }
  fileUrlKey: Uint8Array
  filesPublicUrl: string | null
  /** The command line of the image worker. */
  imageCommand: string[]
  /** Those of `ids` that are users. */
  existingUsers: (from: Reader, ids: string[]) => Promise<string[]>
  /** Told of a picture that goes: it may be the one that shows its owner. */
  clearAvatar: (tx: Tx, userId: string, key: string) => Promise<void>
  now: () => Date
  newKey: () => string
  log: Log
}

/** Builds the parts of this feature and wires them together. */
export function createAttachmentParts(deps: AttachmentPartsDeps) {
  const { db, files, folder, space, now, newKey, log } = deps
  const { existingUsers, clearAvatar } = deps
  const cores = navigator.hardwareConcurrency
  const imageQueue = createImageQueue({ command: deps.imageCommand, space, cores, log })
  const staging = createStaging(join(folder, 'tmp'), space)
  const makeImage = imageQueue.make
  const quota = createQuota({ db, ...deps.quota })
  const variants = createVariants({ db, files, staging, quota, makeImage, now })
  const urls = createFileUrls(createUrlSigner(deps.fileUrlKey, now), deps.filesPublicUrl)
  const listing = createListing({ db, variants, urls })
  const idempotency = createIdempotencyStore({ db, now })
  const attachments = createAttachments({
    db,
    files,
    staging,
    prepare: createPreparer({ staging, makeImage, now, newKey }),
    variants,
    quota,
    idempotency,
    urls,
    existingUsers,
    clearAvatar,
  })
  const orphans = createOrphans({ db, files, now, log })
  const usage = createUsage({ db, now, log })
  const admitUpload = createAdmission()
  return {
    usage,
    files,
    staging,
    admitUpload,
    idempotency,
    imageQueue,
    attachments,
    orphans,
    listing,
    space,
  }
}
