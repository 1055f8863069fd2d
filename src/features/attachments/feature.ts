import { join } from 'node:path'
import { newKey } from '../../lib/ids.ts'
import { highest } from '../../platform/conditions/measure.ts'
import type { OpenDb, Tx } from '../../platform/db/db.ts'
import type {
  ConsoleContext,
  Feature,
  Platform,
  RouteContext,
  ServerContext,
} from '../../platform/feature.ts'
import { partOfExport } from '../../platform/http/replies/envelope.ts'
import { counter, gauge } from '../../platform/metrics/metrics.ts'
import { byForeignKey, type ExistingUsers, nothing } from '../../platform/user-table.ts'
import { attachmentActions } from './actions.ts'
import { attachmentsConsole } from './console.ts'
import { createImageQueue } from './images/image-queue.ts'
import { createVariants } from './images/variants.ts'
import { attachmentJobs } from './jobs.ts'
import { createListing } from './listing.ts'
import { attachmentCommands, attachmentLists } from './lists.ts'
import {
  AttachmentDetails,
  AttachmentRecord,
  attachmentExport,
  attachmentTags,
  ListedAttachment,
} from './model.ts'
import { attachmentRoutes } from './routes.ts'
import { type AttachmentsDb, attachmentTables } from './schema.ts'
import { serverAttachmentRoutes } from './server/routes.ts'
import { type AddedFile, createAttachments } from './service.ts'
import { createDiskSpace } from './storage/disk-space.ts'
import { createConfiguredFiles, createStoreClient } from './storage/file-settings.ts'
import { createFileUrls } from './storage/file-urls.ts'
import { createOrphans, createRowSearch, type Orphans } from './storage/orphans.ts'
import { createUrlSigner } from './storage/signed-url.ts'
import { createStoreOwner } from './storage/store-owner.ts'
import { attachmentGerman } from './translations.ts'
import { createAdmission } from './upload/admission.ts'
import { createIdempotencyStore } from './upload/idempotency.ts'
import { createPreparer } from './upload/prepare-upload.ts'
import { createQuota } from './upload/quota.ts'
import { createStaging } from './upload/staging.ts'
import { createFileUsage } from './usage.ts'

type Needs = {
  imageCommand: string[]
  existingUsers: ExistingUsers
  /** Removes the user's avatar if it is the file with this key. */
  clearAvatar: (tx: Tx, userId: string, key: string) => Promise<void>
  onSupportFile: (tx: Tx, file: AddedFile) => Promise<void>
  isUser: (id: string) => Promise<boolean>
}

type Measured = { imageQueue: ReturnType<typeof createImageQueue>; orphans: Orphans }

export const attachmentsFeature = {
  tables: attachmentTables,
  commands: attachmentCommands,
  lists: attachmentLists,
  actions: attachmentActions,
  conditions: {
    'files-undeletable': {
      title: 'Files without a row cannot be deleted',
      advice:
        'The log names each, with the reason. In a store, give the key the DeleteObject permission, and end the Object Lock or retention of the objects. On a disk, check the owner of DATA_DIR/files.',
      severity: 'warn',
      measure: highest('homeport_files_undeletable'),
      limit: { above: 0, unit: 'files' },
    },
  },
  metrics: {
    homeport_pictures_unfinished: gauge(
      'Images waiting or being processed',
      ({ imageQueue }: Measured) => imageQueue.countUnfinished(),
    ),
    homeport_files_without_row_deleted_total: counter(
      'Files that the hourly search found without a row and deleted',
      ({ orphans }: Measured) => orphans.countDeleted(),
    ),
    homeport_files_undeletable: gauge(
      'Files without a row that could not be deleted, for example because of an Object Lock',
      ({ orphans }: Measured) => orphans.countUndeletable(),
    ),
  },
  translations: { de: attachmentGerman },
  tags: attachmentTags,
  serverTags: { Attachments: 'users’ files' },
  exportMembers: attachmentExport,
  auditEvents: { 'files.open': 'Opened a file of' },
  clientModels: {
    Attachment: AttachmentRecord,
    AttachmentDetails,
    AttachmentExport: partOfExport(attachmentExport, 'the files'),
    ListedAttachment,
  },
  create(
    platform: Platform<AttachmentsDb & Pick<OpenDb<unknown>, 'identify' | 'isShared'>>,
    needs: Needs,
  ) {
    const { config, secrets } = platform
    const folder = join(config.dataDir, 'files')
    const space = createDiskSpace(folder, config.minFreeBytes)
    const { db, now, log } = platform
    const storeOwner = createStoreOwner({
      client: createStoreClient(config),
      claim: secrets.storeClaim,
      identify: db.identify,
      isShared: db.isShared,
      keysWithRow: createRowSearch(db),
      name: config.instance,
      now,
    })
    const files = createConfiguredFiles(config, folder, 'cache', space, storeOwner.mayDelete)
    const cores = navigator.hardwareConcurrency
    const imageQueue = createImageQueue({ command: needs.imageCommand, space, cores, log })
    const makeImage = imageQueue.make
    const staging = createStaging(join(folder, 'tmp'), space)
    const quota = createQuota({
      db,
      maxBytes: config.attachmentQuotaBytes,
      maxCount: config.attachmentQuotaCount,
    })
    const variants = createVariants({ db, files, staging, quota, makeImage, now })
    const urls = createFileUrls(createUrlSigner(secrets.fileUrlKey, now), config.filesPublicUrl)
    const listing = createListing({ db, variants, urls })
    const idempotency = createIdempotencyStore({ db, now })
    const attachments = createAttachments({
      ...needs,
      db,
      files,
      staging,
      prepare: createPreparer({ staging, makeImage, now, newKey }),
      variants,
      quota,
      idempotency,
      urls,
    })
    const isRemote = config.filesUrl !== null
    const services = {
      attachments,
      listing,
      files,
      staging,
      idempotency,
      imageQueue,
      space,
      admitUpload: createAdmission(),
      storeOwner,
      orphans: createOrphans({
        ...platform,
        files,
        beginSweep: storeOwner.beginSweep,
        isBeingStored: attachments.isBeingStored,
      }),
      fileUsage: createFileUsage({ db, now, log }),
    }
    return {
      services,
      routes: (context: RouteContext) => attachmentRoutes({ ...services, ...context, isRemote }),
      serverRoutes: (context: ServerContext) =>
        serverAttachmentRoutes({ ...needs, ...context, listing }),
      consoleRoutes: (context: ConsoleContext) => attachmentsConsole({ ...services, ...context }),
      jobs: attachmentJobs(services),
      userData: {
        attachments: {
          deletion: attachments.removeAll,
          export: { attachments: listing.list },
          merging: attachments.moveAll,
        },
        uploadRetries: {
          deletion: byForeignKey,
          export: { idempotencyKeys: idempotency.list },
          merging: nothing('a retry would carry the guest’s token, which is no longer valid'),
        },
      },
    }
  },
} satisfies Feature
