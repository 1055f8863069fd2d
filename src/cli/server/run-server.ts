import type { Config } from '../../config/config.ts'
import { CommandError, EXIT } from '../../lib/command.ts'
import { onIdleAfterLoad } from '../../lib/concurrency/idle.ts'
import type { LiveLines } from '../../lib/log/live-lines.ts'
import type { Log } from '../../lib/log/log.ts'
import { type JobRun, startJobs } from '../../platform/jobs/jobs.ts'
import type { Services } from '../../server/services.ts'
import { holdCommand } from '../backup/backup.ts'
import { createConsoleBackups } from '../backup/console-backups.ts'
import { backupJobs, warnIfTargetUnwritable } from '../backup/jobs.ts'
import { openData, waitForDatabase } from '../data/open-data.ts'
import { migratePostgres } from '../data/open-postgres.ts'
import { databasePath } from '../data/open-sqlite.ts'
import { snapshotJobs } from '../data/snapshots.ts'
import { dataCommands } from '../data-commands.ts'
import { addDemoData, listDemoJobs } from '../demo/demo.ts'
import { serverStateCommand } from '../doctor/server-state.ts'
import { configCommand } from '../effective-config.ts'
import { readinessCommand } from '../info.ts'
import { waitForDamage } from '../processes/check-database.ts'
import { createHandover, findServer, requireOpenable, takeOver } from '../service/handover.ts'
import type { createNotifier } from '../service/notify.ts'
import { recordService } from '../service/service-record.ts'
import { mustStandIn, standIn } from '../service/stand-in.ts'
import type { Certificate } from '../tls/certificate.ts'
import { loadCertificate, startTls, type Tls } from '../tls/tls.ts'
import { describeForOperator } from '../unavailable.ts'
import { announce } from './announce.ts'
import { serveCommands } from './command-socket.ts'
import { createListener } from './listener.ts'
import { hasBanner } from './server-log.ts'

/** After these errors the server stops writing. */
const STORAGE_ERRORS = new Map([
  ['disk', 'the disk lost data that was written: check it, for example with "dmesg"'],
  ['damage', 'the database is damaged: restore it from a backup'],
])
/** How long we wait for a database server that is starting at the same time. */
const DATABASE_START_MS = 30_000

/** How often we check that the database files are in place, even if nothing is written. */
const PLACEMENT_CHECK_MS = 2_000

/** State that lives as long as the process, even after a hand-over. */
type ServerProcess = {
  config: Config
  log: Log
  liveLines: LiveLines
  notifier: ReturnType<typeof createNotifier>
  signals: StopSignals
  /** Resolves after an uncaught exception. */
  failed: Promise<'bug'>
  isDemo: boolean
  /** Whether to open the console in the browser. */
  opens: boolean
}

export type StopSignals = {
  first: Promise<string>
  second: Promise<string>
  isStopping: () => boolean
}

/** `successor` replaces a running server; `resuming` serves again after its own successor failed. */
type Role = 'first' | 'successor' | 'resuming'

/** Serves until a stop signal or a hand-over. Returns the exit code, or `resuming` when the successor failed. */
export async function runServer(
  serverProcess: ServerProcess,
  role: Role,
): Promise<number | 'resuming'> {
  const { config, log, liveLines, notifier, signals, failed, isDemo } = serverProcess
  await using stack = new AsyncDisposableStack()
  const handover = createHandover(config)
  const listener = createListener(config, log)
  const wasMigrated = role !== 'first' && (await replaceServer(serverProcess, role, listener))
  let tls: Tls | null = null
  const certificate = config.isTls
    ? () => ({ isFailing: tls?.isFailing() ?? false, validTo: tls?.validTo() ?? null })
    : null
  const jobRuns = new Map<string, JobRun | null>()
  const servingSince = new Date()
  const backups = createConsoleBackups(config)
  const live = { servingSince, certificate, liveLines, jobRuns, backups }
  const startedAt = performance.now()
  const isWaiting = () =>
    !signals.isStopping() &&
    (role === 'resuming' || performance.now() - startedAt < DATABASE_START_MS)
  const schema = role === 'resuming' ? 'resume' : 'migrate'
  const open = () => openData(config, log, live, { schema, wasMigrated })
  const { services } = stack.use(await waitForDatabase(config, log, isWaiting, open))
  await checkStore(services, log)
  services.db.readInBackground((reason) =>
    log.error({ reason }, 'the thread for slow reads has failed: slow reads now delay requests'),
  )
  await recordService(config).catch((err) =>
    log.warn({ err }, 'commands will not know the configuration of the service'),
  )
  if (isDemo && role !== 'resuming') {
    const outcome = await addDemoData(services)
    if (!hasBanner(config)) log.info(outcome)
  }
  if (!isDemo) await services.operators.demo.remove()
  if (role === 'first') await listener.probe()
  const plainServer = config.isTls ? null : listener.open(services, null)
  await listener.acceptForwarded()
  // Answer requests first: the steps below are not urgent.
  const commands = await serveCommands(
    services,
    [
      ...dataCommands,
      readinessCommand,
      configCommand,
      serverStateCommand,
      holdCommand,
      ...handover.commands,
    ],
    log,
  )
  // A network disk may take a long time to respond.
  void warnIfTargetUnwritable(config, log)
  stack.defer(await startScheduledJobs(services, serverProcess, jobRuns))
  stack.defer(onIdleAfterLoad(() => releaseMemory(services)))
  stack.defer(() => commands.stop(true))
  let isHandedOver = false
  stack.defer(() =>
    isHandedOver ? listener.handOver(signals.first) : listener.stop(signals.second),
  )
  stack.defer(() => liveLines.close())
  stack.defer(() => services.changes.close())
  let server = plainServer
  const opens = serverProcess.opens && role === 'first'
  const announceOn = (server: Bun.Server<unknown>) =>
    announce(server, { config, services, log, isDemo, opens })
  if (plainServer) await announceOn(plainServer)
  const serveWith = (certificate: Certificate) => {
    const isFirst = server === null
    server = listener.open(services, certificate)
    if (isFirst) void announceOn(server)
  }
  tls = await startTls(config, serveWith, log)
  stack.defer(async () => tls?.stop())
  const watching = setInterval(() => {
    // The readiness check logs the reason, once.
    if (services.db.describeMisplaced() !== null) void services.readiness()
  }, PLACEMENT_CHECK_MS).unref()
  stack.defer(() => clearInterval(watching))
  const checking = new AbortController()
  stack.defer(() => checking.abort())
  // After a move to a database server, the data directory still has the old database.
  const damaged =
    config.databaseUrl === null ? [waitForDamage(databasePath(config), checking.signal)] : []
  await notifier.ready()
  handover.markServing()
  const failures = [failed, ...damaged, services.db.diskFailure]
  const reason = await Promise.race([signals.first, handover.requested, ...failures])
  log.info({ reason }, 'stopping')
  if (reason === 'handover') {
    isHandedOver = true
    await stack.disposeAsync()
    if (!(await Promise.race([handover.waitForSuccessor(), signals.first]))) return 'resuming'
    const lingering = listener.linger(signals.first).then(() => EXIT.done)
    const successorExit = handover.successorExit()
    if (successorExit === null) return lingering
    if (mustStandIn(config)) return standIn(() => findServer(config), signals.isStopping())
    // An exit after an error must not wait for idle connections.
    return Promise.race([lingering, successorExit.then((code) => code || lingering)])
  }
  const storageError = STORAGE_ERRORS.get(reason)
  if (storageError !== undefined) log.fatal(storageError)
  // Changes are refused immediately. Waiting comes last: the disk may not respond.
  const stopped = storageError === undefined ? null : services.db.stopWriting(storageError)
  await notifier.stopping()
  await stopped
  return storageError !== undefined || reason === 'bug' ? EXIT.failed : EXIT.done
}

/** Holds the port, so that clients can connect, and takes over. Returns whether the successor migrated the schema. */
async function replaceServer(
  { config, notifier, log }: ServerProcess,
  role: Exclude<Role, 'first'>,
  listener: ReturnType<typeof createListener>,
): Promise<boolean> {
  const isSuccessor = role === 'successor'
  if (isSuccessor) await requireOpenable(config)
  const certificate = config.isTls ? await loadCertificate(config) : null
  // With a database server, the running server keeps serving while the schema changes.
  const wasMigrated =
    isSuccessor && config.databaseUrl !== null && (await migratePostgres(config, log))
  // The path of a socket has one owner: it changes hands only once the running server agrees.
  const holdsLater = isSuccessor && config.socketPath !== null
  if (!holdsLater && (certificate !== null || !config.isTls)) listener.hold(certificate)
  if (!isSuccessor) return false
  const predecessor = await findServer(config)
  // An older version stops before we serve: the service manager would think that the service has ended.
  if (!predecessor?.takesBack) await notifier.announceMainPid()
  await takeOver(config, () => holdsLater && listener.hold(null))
  return wasMigrated
}

/** Throws `CommandError` if the database's files are in another store. A store that does not respond is checked later. */
async function checkStore({ storeOwner }: Services, log: Log) {
  const problem = await storeOwner.describeProblem().catch((error: Error) => {
    log.warn(describeForOperator(error))
    return null
  })
  if (problem === null) return
  if ((await storeOwner.state()).kind === 'elsewhere') throw new CommandError(problem)
  log.warn(problem)
}

/** Starts the scheduled jobs. Returns a function that stops them. */
async function startScheduledJobs(
  services: Services,
  { config, log, isDemo }: ServerProcess,
  runs: Map<string, JobRun | null>,
) {
  const serviceJobs = isDemo ? await listDemoJobs(services) : services.jobs
  return startJobs([...serviceJobs, ...backupJobs(config, log), ...snapshotJobs(config)], {
    log,
    claim: services.db.claimJob,
    runs,
    readLastKnown: services.recorder.newestAt,
    wasClockAhead: services.recorder.wasClockAhead,
    readSkew: services.db.clockSkew,
  })
}

/** Releases memory after a busy period: first the database's pages, so that the collector can unmap them. */
function releaseMemory({ db }: Services) {
  db.dropCaches()
  Bun.gc(true)
}
