import { freeSpace } from '../lib/files/free-space.ts'
import { countDroppedLines } from '../lib/log/log-output.ts'
import type { Readiness } from '../platform/http/health.ts'
import { counter, gauge, type MetricList } from '../platform/metrics/metrics.ts'
import type { Monitored } from './monitored.ts'

type Needs = Monitored & { readiness: () => Promise<Readiness> }

export const SERVER_METRICS: MetricList<Needs> = {
  process_resident_memory_bytes: gauge('Resident memory', () => process.memoryUsage.rss()),
  process_cpu_seconds_total: counter('CPU time, user and system', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }),
  process_start_time_seconds: gauge(
    'Start of the process, in seconds since 1970',
    () => Math.round(performance.timeOrigin) / 1000,
  ),
  homeport_log_lines_dropped_total: counter(
    'Log lines that could not be written: nothing read the output, or its disk was full',
    countDroppedLines,
  ),
  homeport_db_changes_waiting: gauge(
    'Changes waiting for a commit',
    ({ db }) => db.writeStats().waiting,
  ),
  homeport_db_commits_total: counter(
    'Commits, each with one fsync',
    ({ db }) => db.writeStats().commits,
  ),
  homeport_db_changes_total: counter(
    'Committed changes; divide by the commits for the average batch size',
    ({ db }) => db.writeStats().changes,
  ),
  homeport_clock_skew_seconds: gauge(
    "How far the clock is ahead of the database server's; absent on SQLite",
    async ({ db }) => {
      const skew = await db.clockSkew(Date.now).catch(() => null)
      return skew === null ? null : skew / 1000
    },
  ),
  homeport_disk_free_bytes: gauge(
    'Free space on the disk of DATA_DIR',
    async ({ config }) => (await freeSpace(config.dataDir)).bytes,
  ),
  homeport_disk_free_inodes: gauge(
    'Free inodes on the disk of DATA_DIR; absent where there is no limit',
    async ({ config }) => (await freeSpace(config.dataDir)).inodes,
  ),
  homeport_mails_waiting: gauge('Queued e-mails', ({ outbox }) => outbox.count()),
  homeport_backup_age_seconds: gauge(
    'Age of the newest backup in BACKUP_DIR; absent if there is none',
    async ({ host, now }) => {
      const { newestAt } = await host.backup()
      return newestAt && Math.round((now().getTime() - newestAt.getTime()) / 1000)
    },
  ),
  homeport_certificate_expiry_timestamp_seconds: gauge(
    'When the certificate in use expires, in seconds since 1970; absent unless Homeport serves TLS',
    ({ host }) => {
      const validTo = host.certificate?.().validTo ?? null
      return validTo && validTo.getTime() / 1000
    },
  ),
  homeport_component_up: gauge(
    '1 when a component of /ready is ok, 0 when it is failing or stale; absent when it is off',
    async ({ readiness }) => {
      const { instance: _name, ...components } = await readiness()
      const shown = Object.entries(components).filter(([, state]) => state !== 'off')
      return Object.fromEntries(shown.map(([name, state]) => [name, Number(state === 'ok')]))
    },
    'component',
  ),
  homeport_build_info: gauge(
    'Always 1; the label is the running version',
    ({ version }) => ({ [version]: 1 }),
    'version',
  ),
}
