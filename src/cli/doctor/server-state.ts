import { stat } from 'node:fs/promises'
import type { Config } from '../../config/config.ts'
import { isSecureInTransit } from '../../config/values.ts'
import { dataCommand } from '../../lib/command.ts'
import { HOUR_MS } from '../../lib/time/durations.ts'
import { SERVER_CONDITIONS } from '../../operations/conditions.ts'
import type { DeliveryRecord } from '../../operations/monitoring.ts'
import type { Services } from '../../server/services.ts'
import { type BackupLocation, locateBackups, newestBackup } from '../backup/backups.ts'
import { createBackupState, probeTarget } from '../backup/jobs.ts'
import { STATE_TIMEOUT_MS, sendToServer } from '../server/command-socket.ts'
import { type Finding, failed, ok, warning } from './check.ts'

export const serverStateCommand = dataCommand({
  name: 'server state',
  summary: 'Used by doctor',
  work: ({ serverState }: Services) => serverState(),
  print: () => '',
})

export type ServerState = Awaited<ReturnType<Services['serverState']>>

/** The state that the server reports; null when none is running or its version cannot report it. */
export async function readServerState(config: Config): Promise<ServerState | null> {
  const reply = await sendToServer(
    config,
    serverStateCommand,
    null,
    'work',
    STATE_TIMEOUT_MS,
  ).catch(() => null)
  return (reply?.outcome as ServerState | undefined) ?? null
}

const OLD_BACKUP_MS = SERVER_CONDITIONS['backup-old'].limit.above * HOUR_MS

export async function checkBackup(config: Config, server: ServerState | null): Promise<Finding> {
  const { backupSchedule } = config
  const location = locateBackups(config)
  const isStore = typeof location !== 'string'
  const storeProblem = isStore ? await probeTarget(location) : null
  if (storeProblem !== null) {
    return failed(
      `backups fail: ${storeProblem}`,
      'Correct BACKUP_DIR or the permissions of its key, then run "homeport backup".',
    )
  }
  const { fault } = server ?? (await createBackupState(config)())
  const newest = await newestBackup(config)
  const text = newest ? `${newest.path} from ${newest.at.toISOString()}` : 'none'
  if (fault !== null) {
    const [reason = ''] = fault.split('\n')
    return failed(
      `${text}: scheduled backups are failing: ${reason}`,
      'Fix the cause, then run "homeport backup" to check that backups work.',
    )
  }
  if (!newest && backupSchedule === null) {
    return warning(text, 'Set BACKUP_SCHEDULE, and copy backups to another machine.')
  }
  if (!newest) {
    const next = Bun.cron.parse(backupSchedule ?? '', Date.now(), { tz: 'UTC' })
    return warning(
      `none yet: the first is due at ${next?.toISOString()}`,
      'Create one now with "homeport backup".',
    )
  }
  const isOld = Date.now() - newest.at.getTime() > OLD_BACKUP_MS
  if (isOld) return warning(text, 'Over two days old: run "homeport backup".')
  const risks = [
    ...((await isOnSameDisk(config, location)) ? ['on the same disk as DATA_DIR'] : []),
    ...(isStore && !isSecureInTransit(new URL(location.endpoint)) ? ['sent over http'] : []),
    ...(newest.path.endsWith('.age') ? [] : ['not encrypted']),
  ]
  if (risks.length === 0) return ok(text)
  return warning(
    `${text}: backups are ${risks.join(' and ')}`,
    isStore
      ? 'Set BACKUP_KEY, and use an https endpoint.'
      : 'Mount another disk at BACKUP_DIR or let another machine fetch them, and set BACKUP_KEY.',
  )
}

/** Whether the newest backup would be lost with the disk that holds the data. */
async function isOnSameDisk(config: Config, location: BackupLocation): Promise<boolean> {
  if (typeof location !== 'string' || config.databaseUrl !== null) return false
  const [data, backups] = await Promise.all([config.dataDir, location].map((path) => stat(path)))
  return data?.dev === backups?.dev
}

/** The billing provider retries for 155 minutes: after that, a refused event was accepted or is lost. */
const RECENT_MS = 3 * HOUR_MS

const ADVICE: Record<string, string> = {
  unauthenticated:
    "Enter the value of WEBHOOK_TOKEN in the provider's dashboard, and set WEBHOOK_SIGNING_SECRET to the provider's secret: the log gives the reason.",
  webhook_not_configured: 'Set WEBHOOK_TOKEN and restart.',
}

export function checkDeliveries(server: ServerState | null): Finding {
  if (server === null) return warning('unknown: no server is running', 'Start the server.')
  const { refused, acceptedAt }: DeliveryRecord = server.delivery
  if (refused === null || Date.now() - Date.parse(refused.at) > RECENT_MS) {
    return ok(acceptedAt === null ? 'none since startup' : `the last one arrived at ${acceptedAt}`)
  }
  const { at, status, code } = refused
  const text = `refused at ${at} with ${status} ${code}`
  const advice = ADVICE[code] ?? 'The log says why. The provider retries for 155 minutes.'
  const isWorking = acceptedAt !== null && acceptedAt > at
  return isWorking ? warning(`${text}; later ones were accepted`, advice) : failed(text, advice)
}

export function checkWebhooks({ failedWebhooks }: ServerState): Finding {
  // An older server does not report them.
  const hosts = (failedWebhooks ?? []).map(({ host }) => host)
  if (hosts.length === 0) return ok('no endpoint is disabled because of failures')
  return warning(
    `disabled because of failures: ${hosts.join(', ')}`,
    'Fix the receiver, then run "homeport webhooks test" and "homeport webhooks enable"; "homeport webhooks list" prints the ids.',
  )
}
