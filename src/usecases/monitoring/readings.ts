import { freeSpace } from '../../lib/free-space.ts'
import { processReadings, type Reading } from '../../lib/metrics.ts'
import type { Part, Readiness } from '../../platform/http/health.ts'

import type { HostState } from './host-state.ts'

type ReadingsDeps = {
  dataDir: string
  writeStats: () => { waiting: number; commits: number; changes: number }
  /** In ms; null where there is no server of a database. */
  clockSkew: () => Promise<number | null>
  countUnfinishedPictures: () => number
  countFailedEvents: () => Promise<number>
  countWaitingMails: () => Promise<number>
  /** When the rates that are served were published. */
  ratesUpdatedAt: () => Promise<string>
  /** Whether they are ever refreshed. */
  areRatesOn: boolean
  version: string
  readiness: () => Promise<Readiness>
  host: HostState
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
      name: 'homeport_clock_skew_seconds',
      help: "By how much the clock is ahead of the database server's; absent on SQLite",
      read: async () => {
        const skew = await deps.clockSkew().catch(() => null)
        return skew === null ? null : skew / 1000
      },
    },
    {
      name: 'homeport_disk_free_bytes',
      help: 'Free space on the disk of DATA_DIR',
      read: async () => (await freeSpace(dataDir)).bytes,
    },
    {
      name: 'homeport_disk_free_inodes',
      help: 'Files that the disk of DATA_DIR can still take; absent where there is no limit',
      read: async () => (await freeSpace(dataDir)).inodes,
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
        const { newestAt } = await deps.host.backup()
        return newestAt && secondsSince(newestAt.getTime())
      },
    },
    {
      name: 'homeport_certificate_expiry_timestamp_seconds',
      help: 'End of the certificate that is served, in seconds since 1970',
      read: () => {
        const validTo = deps.host.certificate?.().validTo ?? null
        return validTo && validTo.getTime() / 1000
      },
    },
    {
      name: 'homeport_component_up',
      help: '1 when a component of /ready is ok, 0 when it is failing or stale; absent when it is off',
      label: 'component',
      read: async () => componentsUp(await deps.readiness()),
    },
    {
      name: 'homeport_build_info',
      help: 'Always 1: the version that runs',
      label: 'version',
      read: () => ({ [deps.version]: 1 }),
    },
  ]
}

function componentsUp({ instance: _name, ...parts }: Readiness): Record<string, number> {
  const isOn = ([, state]: [string, Part]) => state !== 'off'
  const shown = Object.entries(parts).filter(isOn)
  return Object.fromEntries(shown.map(([name, state]) => [name, state === 'ok' ? 1 : 0]))
}
