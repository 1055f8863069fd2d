import { dataCommand, EXIT, UsageError } from '../lib/command.ts'
import { megabytes } from '../lib/text/format.ts'
import type { Status } from '../operations/status.ts'
import { readMigrations } from '../platform/db/migrations.ts'
import { isReady } from '../platform/http/health.ts'
import { findConsoleUrl } from '../platform/public-url.ts'
import type { Services } from '../server/services.ts'
import { BUILD, BUILD_INFO, SHARP_VERSION, VERSION } from '../version.ts'
import { type LocalCommand, localCommand } from './command.ts'
import { requireOwnDirectory } from './data/data-directory.ts'
import { effectiveConfig } from './effective-config.ts'
import { STATE_TIMEOUT_MS, sendToServer } from './server/command-socket.ts'
import { writeOutcome, writeOutput } from './terminal.ts'

export const status = dataCommand({
  name: 'status',
  summary: 'Show the state of the service; exit 1 when it is not ready',
  options: [['--data-dir <path>', 'overrides DATA_DIR']],
  work: ({ status }: Services) => status(),
  print: describeStatus,
  isFailure: ({ isReady }) => !isReady,
})

function describeStatus(status: Status): string {
  const { version, since, isReady, ready, failed, ratesUpdatedAt, ratesAgeHours } = status
  const state = since === null ? 'not running' : `${isReady ? 'ready' : 'NOT READY'} since ${since}`
  const components = Object.entries(ready).map(([name, component]) => `${name} ${component}`)
  const rows = {
    homeport: `${version}, ${state}`,
    components: components.join(', '),
    users: `${status.users ?? '?'}, sessions ${status.sessions ?? '?'}`,
    billing: `events ${status.events ?? '?'}, failed ${failed ?? '?'}${failed ? ': see "events list --failed"' : ''}`,
    'e-mails': `queued ${status.messagesWaiting ?? '?'}`,
    rates: ratesUpdatedAt === null ? '?' : `from ${ratesUpdatedAt}, ${ratesAgeHours} hours old`,
    slowest: describeSlowest(status.slowestEndpoints),
    backup: describeBackup(status.backup),
    disk: `${status.databaseBytes === null ? '?' : megabytes(status.databaseBytes)} database, ${megabytes(status.freeBytes)} free`,
    data: status.dataDir,
    database: `${status.database}${ready.database === 'ok' ? '' : ' does not respond: check its server'}`,
  }
  return Object.entries(rows)
    .map(([name, text]) => `${name.padEnd(10)} ${text}`)
    .join('\n')
}

function describeSlowest(endpoints: Status['slowestEndpoints']): string {
  if (endpoints === null) return '?'
  const figures = endpoints.map(
    ({ name, p99, count }) => `${name} p99 ${Math.ceil(p99)} ms (${count})`,
  )
  return figures.join(', ') || 'no requests in the last hour'
}

function describeBackup({ newestAt, isScheduled, fault }: Status['backup']): string {
  const newest = newestAt === null ? 'none' : `from ${new Date(newestAt).toISOString()}`
  if (fault !== null) return `${newest}, SCHEDULED BACKUPS ARE FAILING: ${fault}`
  return isScheduled ? newest : `${newest}, BACKUP_SCHEDULE is not set`
}

/** The response to `/ready`, over the data directory's socket: another server might be using the port. */
export const readinessCommand = dataCommand({
  name: 'readiness',
  summary: 'Used by health',
  work: ({ readiness }: Services) => readiness(),
  print: (parts) =>
    Object.entries(parts)
      .map(([name, state]) => `${name} ${state}`)
      .join(', '),
})

export const health: LocalCommand = {
  name: 'health',
  summary: 'Check whether the server of DATA_DIR is ready, like /ready: exit 0 or 1',
  run: async (loadConfig, { json }) => {
    const reply = await sendToServer(loadConfig(), readinessCommand, null, 'work', STATE_TIMEOUT_MS)
    if (reply === null) {
      await requireOwnDirectory(loadConfig())
      if (json) writeOutput(JSON.stringify({ server: 'not running' }))
      process.stderr.write(`No server is running on ${loadConfig().dataDir}.\n`)
      return EXIT.failed
    }
    const parts = reply.outcome as Awaited<ReturnType<Services['readiness']>>
    writeOutcome(json, parts, readinessCommand.print(parts))
    return isReady(parts) ? EXIT.done : EXIT.failed
  },
}

export const version = localCommand({
  name: 'version',
  summary:
    'Print the version, its commit and date; with --json also the schema and embedded components',
  work: async () => describeBuild(),
  print: () => BUILD,
})

function describeBuild() {
  const { bun, sqlite, boringssl } = process.versions
  return {
    version: VERSION,
    commit: BUILD_INFO?.commit ?? null,
    date: BUILD_INFO?.date ?? null,
    isReleaseKeyPinned: (BUILD_INFO?.releaseKeys.length ?? 0) > 0,
    bun,
    platform: `${process.platform}-${process.arch}`,
    // The number of migrations that this version knows.
    schemaVersion: readMigrations('sqlite').length,
    embedded: { bun, sqlite, boringssl, sharp: SHARP_VERSION },
  }
}

export const open = localCommand({
  name: 'open',
  summary: 'Print the URL of the console',
  work: async (loadConfig) => {
    const config = await effectiveConfig(loadConfig())
    const url = findConsoleUrl(config)
    if (url === null) throw new UsageError('CONSOLE is off: set it to "on" to enable the console.')
    return { url, networks: config.consoleNetworks }
  },
  print: ({ url, networks }) =>
    networks.length > 0 ? `${url}\nReachable only from ${networks.join(', ')}.` : url,
})
