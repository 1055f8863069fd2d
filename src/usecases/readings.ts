import { statfs } from 'node:fs/promises'
import { processReadings, type Reading } from '../lib/metrics.ts'

type ReadingsDeps = {
  dataDir: string
  writeStats: () => { waiting: number; commits: number; changes: number }
  countUnfinishedPictures: () => number
  countFailedEvents: () => Promise<number>
  countWaitingMails: () => Promise<number>
  /** When the rates that are served were published. */
  ratesUpdatedAt: () => Promise<string>
  /** Whether they are ever refreshed. */
  areRatesOn: boolean
  /** When the newest backup was written; null without one. */
  newestBackupAt: () => Promise<Date | null>
  now: () => Date
}

/** What `/metrics` tells beside the requests. */
export function createReadings(deps: ReadingsDeps): Reading[] {
  const { dataDir, writeStats, now } = deps
  const secondsSince = (time: number) => Math.round((now().getTime() - time) / 1000)
  return [
    ...processReadings,
    {
      name: 'homeport_db_changes_waiting',
      help: 'Changes that wait for a commit',
      read: () => writeStats().waiting,
    },
    {
      name: 'homeport_db_commits_total',
      help: 'Commits, each with one fsync',
      isTotal: true,
      read: () => writeStats().commits,
    },
    {
      name: 'homeport_db_changes_total',
      help: 'Changes in those commits: divided by them, the size of a batch',
      isTotal: true,
      read: () => writeStats().changes,
    },
    {
      name: 'homeport_disk_free_bytes',
      help: 'Free space on the disk of DATA_DIR',
      read: async () => {
        const { bavail, bsize } = await statfs(dataDir)
        return bavail * bsize
      },
    },
    {
      name: 'homeport_pictures_unfinished',
      help: 'Pictures that wait or are being made',
      read: deps.countUnfinishedPictures,
    },
    {
      name: 'homeport_billing_events_failed',
      help: 'Billing events that could not be applied: see "homeport events list --failed"',
      read: deps.countFailedEvents,
    },
    {
      name: 'homeport_mails_waiting',
      help: 'Mails that are not sent yet',
      read: deps.countWaitingMails,
    },
    {
      name: 'homeport_rates_age_seconds',
      help: 'Age of the currency rates that are served',
      read: async () =>
        deps.areRatesOn ? secondsSince(Date.parse(await deps.ratesUpdatedAt())) : null,
    },
    {
      name: 'homeport_backup_age_seconds',
      help: 'Age of the newest backup in BACKUP_DIR',
      read: async () => {
        const at = await deps.newestBackupAt()
        return at && secondsSince(at.getTime())
      },
    },
  ]
}
