import type { BunFile } from 'bun'
import { Elysia, t } from 'elysia'
import { AppError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import { allow, CONSOLE_API, type RecordAct } from '../../platform/http/console-guard.ts'
import { closedObject, data } from '../../platform/http/envelope.ts'
import { progressReply } from '../../platform/http/progress-reply.ts'

/** A backup in the folder of backups; `verifiedAt`: when all of it was last read and found good. */
type Backup = { name: string; bytes: number; at: Date; verifiedAt: Date | null }

/** What writes and reads backups. */
export type Backups = {
  /** The newest first, and when the next is written by itself; null for never. */
  list: () => Promise<{ backups: Backup[]; next: Date | null; isEncrypted: boolean }>
  make: (tell: (bytes: number) => void, signal: AbortSignal) => Promise<{ name: string }>
  /** Reads all of it. Throws `conflict`, and says what is wrong with it. */
  verify: (name: string, signal: AbortSignal) => Promise<void>
  /** Null when there is none of that name. */
  open: (name: string) => Promise<BunFile | null>
}

const NameParam = closedObject({ name: t.String({ maxLength: 100 }) })

type BackupsAdminDeps = { backups: Backups | null; record: RecordAct; log: Log }

/** Backups: made, verified and taken home. Restoring is a command. */
export function backupsAdmin({ backups, record, log }: BackupsAdminDeps) {
  return new Elysia({ name: 'backups-admin', prefix: `${CONSOLE_API}/backups` })
    .get('', async () => data(await required().list()), allow('reader'))
    .post(
      '',
      ({ request, server, set }) =>
        progressReply<{ bytes: number }, { name: string }>(
          { request, server, set, log },
          async (tell) => {
            // It is finished also when nobody waits for it any more.
            const { signal } = new AbortController()
            const made = await required().make((bytes) => tell({ bytes }), signal)
            await record(request, { action: 'backups.make', target: made.name })
            return made
          },
        ),
      allow('operator'),
    )
    .post(
      '/:name/verify',
      ({ request, server, set, params: { name } }) =>
        progressReply({ request, server, set, log }, async (_tell, signal) => {
          await required().verify(name, signal)
          await record(request, { action: 'backups.verify', target: name })
          return { name }
        }),
      { params: NameParam, ...allow('operator') },
    )
    .get(
      '/:name/download',
      async ({ request, set, params: { name } }) => {
        const file = await required().open(name)
        if (!file) throw new AppError('not_found', `There is no backup ${name}.`)
        await record(request, { action: 'backups.download', target: name })
        set.headers['content-disposition'] = `attachment; filename="${name}"`
        set.headers['content-type'] = 'application/octet-stream'
        return file
      },
      { params: NameParam, ...allow('operator', 'stepUp') },
    )

  function required(): Backups {
    if (backups !== null) return backups
    throw new AppError('unavailable', 'Only the running server can make backups.')
  }
}
