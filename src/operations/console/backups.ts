import type { BunFile } from 'bun'
import { Elysia, t } from 'elysia'
import { AppError } from '../../lib/errors.ts'
import { defineAction } from '../../platform/actions/action.ts'
import { allow, CONSOLE_API, type RecordAction } from '../../platform/http/console-guard.ts'
import { closedObject } from '../../platform/http/replies/envelope.ts'
import { defineList } from '../../platform/lists/list.ts'

/**
 * A stored backup; `verifiedAt` is when it was last read completely and found intact, `problem` why the last attempt
 * failed.
 */
type Backup = {
  name: string
  bytes: number
  at: Date
  verifiedAt: Date | null
  problem: string | null
  /** False if this server does not have the key to decrypt it. */
  canVerify: boolean
}

export type Backups = {
  /** The backups, newest first, their folder, and the time of the next scheduled one; null if there is no schedule. */
  list: () => Promise<{
    backups: Backup[]
    next: Date | null
    isEncrypted: boolean
    /** False if they are in an object store. */
    isOnServer: boolean
    /** Null for operators who are not owners. */
    folder: string | null
  }>
  make: (onProgress: (bytes: number) => void) => Promise<{ name: string }>
  /** Reads the whole backup. Throws `conflict` with the reason when it is damaged. */
  verify: (name: string, signal: AbortSignal) => Promise<void>
  /** Null when there is no such backup. */
  open: (name: string) => Promise<BunFile | Response | null>
}

const BackupParams = closedObject({ name: t.String({ maxLength: 100 }) })

type Needs = { backups: Backups | null }

const make = defineAction({
  name: 'backups.make',
  summary: 'Make a backup',
  label: 'Created backup',
  role: 'operator',
  input: closedObject({}),
  console: 'backups',
  hasProgress: true,
  // It continues when the browser disconnects.
  work: ({ backups }: Needs, _input, { onProgress }) =>
    requireBackups(backups).make((bytes) => onProgress({ bytes })),
  audit: ({ name }) => ({ target: name }),
  command: null,
})

const verify = defineAction({
  name: 'backups.verify',
  summary: 'Read a whole backup, and check that it is intact',
  label: 'Verified backup',
  role: 'operator',
  input: BackupParams,
  console: 'backups/:name/verify',
  hasProgress: true,
  async work({ backups }: Needs, { name }, { signal }) {
    await requireBackups(backups).verify(name, signal)
    return { name }
  },
  audit: ({ name }) => ({ target: name }),
  command: null,
})

export const backupActions = [make, verify]

const list = defineList({
  name: 'backups',
  summary: 'List the backups',
  console: 'backups',
  query: closedObject({}),
  read: async ({ backups }: Needs, _query, { role }) => {
    const { folder, ...list } = await requireBackups(backups).list()
    return { ...list, folder: role === 'owner' ? folder : null }
  },
  rows: ({ backups }) => backups,
  columns: {
    name: ({ name }) => name,
    bytes: ({ bytes }) => bytes,
    at: ({ at }) => at,
    verified: ({ verifiedAt }) => verifiedAt,
  },
  command: null,
})

export const backupLists = [list]

type BackupsConsoleDeps = Needs & { record: RecordAction }

/** Downloads backups. Only the command line restores them. */
export function backupsConsole({ backups, record }: BackupsConsoleDeps) {
  return new Elysia({ name: 'backups-console', prefix: `${CONSOLE_API}/backups` }).get(
    '/:name/download',
    async ({ request, set, params: { name } }) => {
      const file = await requireBackups(backups).open(name)
      if (!file) throw new AppError('not_found', `There is no backup ${name}.`)
      await record(request, { action: 'backups.download', target: name })
      set.headers['content-disposition'] = `attachment; filename="${name}"`
      set.headers['content-type'] = 'application/octet-stream'
      return file
    },
    // A backup may contain all secrets, unencrypted.
    { params: BackupParams, ...allow('owner', 'stepUp') },
  )
}

/** Throws `unavailable` in a command that runs without a server. */
function requireBackups(backups: Backups | null): Backups {
  if (backups !== null) return backups
  throw new AppError('unavailable', 'Only the running server can make backups.')
}
