import { dataCommand } from '../lib/command.ts'
import { megabytes } from '../lib/megabytes.ts'
import type { Services } from '../server/services.ts'
import type { Status } from '../usecases/monitoring/status.ts'

export const status = dataCommand({
  name: 'status',
  summary: 'Show how the service is on one screen; exit 1 when it is not ready',
  options: [['--data-dir <path>', 'wins over DATA_DIR']],
  work: ({ status }: Services) => status(),
  print: describe,
  isBad: ({ isReady }) => !isReady,
})

function describe(status: Status): string {
  const { version, since, isReady, ready, failed, ratesUpdatedAt, ratesAgeHours } = status
  const state = since === null ? 'not running' : `${isReady ? 'ready' : 'NOT READY'} since ${since}`
  const parts = Object.entries(ready).map(([name, part]) => `${name} ${part}`)
  const rows = {
    homeport: `${version}, ${state}`,
    parts: parts.join(', '),
    people: `users ${status.users ?? '?'}, sessions ${status.sessions ?? '?'}`,
    billing: `events ${status.events ?? '?'}, failed ${failed ?? '?'}${failed ? ': see "events list --failed"' : ''}`,
    mails: `waiting ${status.messagesWaiting ?? '?'}`,
    rates: ratesUpdatedAt === null ? '?' : `of ${ratesUpdatedAt}, ${ratesAgeHours} hours old`,
    backup: describeBackup(status.backup),
    disk: `${status.databaseBytes === null ? '?' : megabytes(status.databaseBytes)} database, ${megabytes(status.freeBytes)} free`,
    data: status.dataDir,
    database: `${status.database}${ready.database === 'ok' ? '' : ' does not answer: look at its server'}`,
  }
  return Object.entries(rows)
    .map(([name, text]) => `${name.padEnd(9)} ${text}`)
    .join('\n')
}

function describeBackup({ newestAt, isScheduled, fault }: Status['backup']): string {
  const newest = newestAt === null ? 'none' : `of ${new Date(newestAt).toISOString()}`
  if (fault !== null) return `${newest}, BACKUP_SCHEDULE IS FAILING: ${fault}`
  return isScheduled ? newest : `${newest}, BACKUP_SCHEDULE is not set`
}
