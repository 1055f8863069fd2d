import type { Job } from '../../platform/jobs/jobs.ts'
import type { Orphans } from './storage/orphans.ts'
import type { IdempotencyStore } from './upload/idempotency.ts'
import type { Staging } from './upload/staging.ts'

type AttachmentJobsDeps = { orphans: Orphans; idempotency: IdempotencyStore; staging: Staging }

export function attachmentJobs({ orphans, idempotency, staging }: AttachmentJobsDeps): Job[] {
  return [
    {
      name: 'upload retries',
      schedule: ['45 3 * * *'],
      run: idempotency.sweep,
      deletesByAge: true,
    },
    { name: 'orphaned files', schedule: ['17 * * * *'], run: orphans.collect, deletesByAge: true },
    {
      name: 'copies of files',
      schedule: ['*/10 * * * *'],
      run: orphans.collectCopies,
      runsOnEveryInstance: true,
    },
    {
      name: 'abandoned uploads',
      schedule: ['7 * * * *'],
      run: () => staging.sweep(new Date()),
      runsOnEveryInstance: true,
      deletesByAge: true,
    },
  ]
}
