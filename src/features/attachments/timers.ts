import type { Timer } from '../../lib/timer.ts'
import type { Attachments } from './service.ts'
import type { Retries } from './upload/idempotency.ts'
import type { Staging } from './upload/staging.ts'

type AttachmentTimersDeps = { attachments: Attachments; retries: Retries; staging: Staging }

export function attachmentTimers({ attachments, retries, staging }: AttachmentTimersDeps): Timer[] {
  return [
    { name: 'upload retries', schedule: ['45 3 * * *'], run: retries.sweep },
    { name: 'orphaned files', schedule: ['17 * * * *'], run: attachments.collectOrphans },
    {
      name: 'abandoned uploads',
      schedule: ['7 * * * *'],
      run: () => staging.sweep(new Date()),
      isEverywhere: true,
    },
  ]
}
