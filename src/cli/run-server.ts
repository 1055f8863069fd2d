import type { Config } from '../config.ts'
import { EXIT } from '../lib/command.ts'
import type { LiveLines } from '../lib/live-lines.ts'
import type { Log } from '../lib/log.ts'
import { onQuietAfterLoad } from '../lib/quiet-time.ts'
import { startTimers, type TimerRun } from '../lib/timer.ts'
import type { Services } from '../server/services.ts'
import { holdCommand } from './backup/backup.ts'
import { createConsoleBackups } from './backup/console-backups.ts'
import { backupTimers, warnOfTarget } from './backup/timers.ts'
import { serveCommands } from './command-socket.ts'
import { dataCommands } from './data-commands.ts'
import { addDemoData } from './demo.ts'
import { serverStateCommand } from './doctor/server-state.ts'
import { configCommand } from './effective-config.ts'
import { readinessCommand } from './info.ts'
import { createListener } from './listener.ts'
import { openData, waitForDatabase } from './open-data.ts'
import { databasePath } from './open-sqlite.ts'
import { waitForDamage } from './processes/check-database.ts'
import { announce } from './server-log.ts'
import { createHandover, findServer, proveOpenable, takeOver } from './service/handover.ts'
import type { createNotifier } from './service/notify.ts'
import { recordService } from './service/service-record.ts'
import { snapshotTimers } from './snapshots.ts'
import type { Certificate } from './tls/certificate.ts'
import { keptCertificate, startTls, type Tls } from './tls/tls.ts'

/** After these nothing is written any more. */
const FAULTS = new Map([
  ['disk', 'the disk did not keep what was written: look at it, such as with "dmesg"'],
  ['damage', 'the database is damaged: restore it from a backup'],
])
/** A database server may start beside us, and for so long it is waited for, in ms. */
const DATABASE_START = 30_000

/** What outlives a hand-over. */
type ServerProcess = {
  config: Config
  log: Log
  liveLines: LiveLines
  notifier: ReturnType<typeof createNotifier>
  signals: StopSignals
  /** Resolves after a throw that nobody caught. */
  failed: Promise<'bug'>
}

export type StopSignals = {
  first: Promise<string>
  second: Promise<string>
  isStopping: () => boolean
}

/** `successor` of a process that serves, or `returning` after its own successor has failed. */
type Role = 'first' | 'successor' | 'returning'

/** Serves until it is told to stop, and returns the exit code; or until the next process has failed to take over. */
export async function runServer(
  { config, log, liveLines, notifier, signals, failed }: ServerProcess,
  role: Role,
  demo: boolean,
): Promise<number | 'returning'> {
  await using stack = new AsyncDisposableStack()
  const handover = createHandover(config)
  const listener = createListener(config, log)
  if (role === 'successor') await proveOpenable(config)
  if (role !== 'first') {
    const certificate = config.isTls ? await keptCertificate(config) : null
    if (certificate !== null || !config.isTls) listener.hold(certificate)
  }
  if (role === 'successor') {
    const predecessor = await findServer(config)
    // An older program ends before we serve, and the service manager would take that for the end of the service.
    if (!predecessor?.takesBack) await notifier.announceMainPid()
    await takeOver(config)
  }
  let tls: Tls | null = null
  const certificate = config.isTls
    ? () => ({ isFailing: tls?.isFailing() ?? false, validTo: tls?.validTo() ?? null })
    : null
  const timerRuns = new Map<string, TimerRun | null>()
  const servingSince = new Date()
  const backups = createConsoleBackups(config)
  const live = { servingSince, certificate, liveLines, timerRuns, backups }
  const startedAt = performance.now()
  const isWaiting = () =>
    !signals.isStopping() &&
    (role === 'returning' || performance.now() - startedAt < DATABASE_START)
  const open = () => openData(config, log, live, { schema: 'migrate' })
  const { services } = stack.use(await waitForDatabase(config, log, isWaiting, open))
  await recordService(config).catch((err) => log.warn({ err }, 'commands will not know of it'))
  if (demo) await addDemoData(services, log)
  if (role === 'first') listener.probe()
  const plain = config.isTls ? null : listener.open(services, null)
  await listener.takeForwarded()
  // What nobody waits for comes after what somebody may: phones are answered by now.
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
  // The disk of another machine may take long to answer.
  void warnOfTarget(config, log)
  const stopTimers = startTimers(
    [...services.jobs, ...backupTimers(config, log), ...snapshotTimers(config)],
    {
      log,
      claim: services.db.claimTimer,
      runs: timerRuns,
      readLastKnown: services.recorder.newestAt,
      readSkew: services.db.clockSkew,
    },
  )
  stack.defer(stopTimers)
  stack.defer(onQuietAfterLoad(() => releaseMemory(services)))
  stack.defer(() => commands.stop(true))
  let isHandedOver = false
  stack.defer(() =>
    isHandedOver ? listener.handOver(signals.first) : listener.stop(signals.second),
  )
  stack.defer(() => liveLines.close())
  let server = plain
  if (plain) announce(config, plain, log)
  const serveWith = (certificate: Certificate) => {
    const isFirst = server === null
    server = listener.open(services, certificate)
    if (isFirst) announce(config, server, log)
  }
  tls = await startTls(config, serveWith, log)
  stack.defer(async () => tls?.stop())
  const checking = new AbortController()
  stack.defer(() => checking.abort())
  const damaged = waitForDamage(databasePath(config), checking.signal)
  await notifier.ready()
  handover.markServing()
  const failures = [failed, damaged, services.db.diskFailure]
  const reason = await Promise.race([signals.first, handover.requested, ...failures])
  log.info({ reason }, 'stopping')
  if (reason === 'handover') {
    isHandedOver = true
    await stack.disposeAsync()
    if (!(await Promise.race([handover.isServed(), signals.first]))) return 'returning'
    await listener.linger(signals.first)
    return EXIT.done
  }
  await notifier.stopping()
  const fault = FAULTS.get(reason)
  if (fault === undefined) return reason === 'bug' ? EXIT.failed : EXIT.done
  log.fatal(fault)
  await services.db.stopWriting(fault)
  return EXIT.failed
}

/** Gives back what a busy time has left: first the pages of the database, for the collector unmaps what is free. */
function releaseMemory({ db }: Services) {
  db.dropCaches()
  Bun.gc(true)
}
