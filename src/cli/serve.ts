import type { Config } from '../config.ts'
import { timersOf } from '../features.ts'
import { createLiveLines } from '../lib/live-lines.ts'
import type { Log } from '../lib/log.ts'
import { onQuietAfterLoad } from '../lib/quiet-time.ts'
import { startTimers, type TimerRun } from '../lib/timer.ts'
import type { Services } from '../services.ts'
import { holdCommand } from './backup/backup.ts'
import { createConsoleBackups } from './backup/console-backups.ts'
import { backupTimers } from './backup/timers.ts'
import { waitForDamage } from './check-database.ts'
import { EXIT, type LocalCommand } from './command.ts'
import { isServing, serveCommands } from './command-socket.ts'
import { dataCommands } from './data-commands.ts'
import { openData } from './data-directory.ts'
import { addDemoData } from './demo.ts'
import { serverStateCommand } from './doctor/server-state.ts'
import { configCommand } from './effective-config.ts'
import { readinessCommand } from './health.ts'
import { createListener } from './listener.ts'
import { databasePath } from './open-sqlite.ts'
import { announce, createServerLog } from './server-log.ts'
import { createHandover, takeOver } from './service/handover.ts'
import { createNotifier } from './service/notify.ts'
import { recordService } from './service/service-record.ts'
import { snapshotTimers } from './snapshots.ts'
import type { Certificate } from './tls/certificate.ts'
import { keptCertificate, startTls, type Tls } from './tls/tls.ts'

/** After these nothing is written any more. */
const FAULTS = new Map([
  ['disk', 'the disk did not keep what was written: look at it, such as with "dmesg"'],
  ['damage', 'the database is damaged: restore it from a backup'],
])

export const serve: LocalCommand = {
  name: 'serve',
  summary: 'Run the server (the default)',
  options: [
    ['--port <port>', 'wins over PORT'],
    ['--host <host>', 'wins over HOST'],
    ['--data-dir <path>', 'wins over DATA_DIR'],
    [
      '--takeover',
      'take the place of the server that runs on the data, without refusing a request',
    ],
    ['--demo', 'add demo people, events and pictures to an empty database'],
  ],
  run: async (config, { demo, takeover }) => {
    const chosen = config()
    const signals = stopSignals(chosen)
    const liveLines = createLiveLines()
    const log = await createServerLog(chosen, liveLines)
    const failed = watchForBugs(log)
    await using stack = new AsyncDisposableStack()
    const notifier = createNotifier(chosen, log)
    const handover = createHandover()
    const listener = createListener(chosen, log)
    const isSuccessor = takeover === true && (await isServing(chosen))
    if (isSuccessor) {
      const certificate = chosen.isTls ? await keptCertificate(chosen) : null
      if (certificate !== null || !chosen.isTls) listener.hold(certificate)
      await notifier.becomeMain()
      await takeOver(chosen)
    }
    let tls: Tls | null = null
    const certificate = chosen.isTls
      ? () => ({ isFailing: tls?.isFailing() ?? false, validTo: tls?.validTo() ?? null })
      : null
    const timerRuns = new Map<string, TimerRun | null>()
    const servingSince = new Date()
    const backups = createConsoleBackups(chosen)
    const live = { servingSince, certificate, liveLines, timerRuns, backups }
    const { services } = stack.use(await openData(chosen, log, live, { schema: 'migrate' }))
    await recordService(chosen).catch((err) => log.warn({ err }, 'commands will not know of it'))
    if (demo) await addDemoData(services, log)
    if (!isSuccessor) listener.probe()
    const plain = chosen.isTls ? null : listener.open(services, null)
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
    const stopTimers = startTimers(
      [...timersOf(services), ...backupTimers(chosen, log), ...snapshotTimers(chosen)],
      {
        log,
        claim: services.db.claimTimer,
        runs: timerRuns,
        readLastKnown: services.recorder.newestAt,
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
    if (plain) announce(chosen, plain, log)
    const serveWith = (certificate: Certificate) => {
      const isFirst = server === null
      server = listener.open(services, certificate)
      if (isFirst) announce(chosen, server, log)
    }
    tls = await startTls(chosen, serveWith, log)
    stack.defer(async () => tls?.stop())
    const checking = new AbortController()
    stack.defer(() => checking.abort())
    const damaged = waitForDamage(databasePath(chosen), checking.signal)
    await notifier.ready()
    const failures = [failed, damaged, services.db.diskFailure]
    const reason = await Promise.race([signals.first, handover.requested, ...failures])
    log.info({ reason }, 'stopping')
    if (reason === 'handover') {
      isHandedOver = true
      await stack.disposeAsync()
      await listener.linger(signals.first)
      return EXIT.done
    }
    await notifier.stopping()
    const fault = FAULTS.get(reason)
    if (fault === undefined) return reason === 'bug' ? EXIT.failed : EXIT.done
    log.fatal(fault)
    await services.db.stopWriting(fault)
    return EXIT.failed
  },
}

/** Gives back what a busy time has left: first the pages of the database, for the collector unmaps what is free. */
function releaseMemory({ db }: Services) {
  db.dropCaches()
  Bun.gc(true)
}

/** SIGHUP has another meaning where the log is a file: see `createServerLog`. */
function stopSignals({ logFile }: Config) {
  const first = Promise.withResolvers<string>()
  const second = Promise.withResolvers<string>()
  let count = 0
  const stopping = ['SIGTERM', 'SIGINT', ...(logFile === null ? ['SIGHUP'] : [])]
  for (const signal of stopping) {
    process.on(signal, () => (count++ === 0 ? first : second).resolve(signal))
  }
  return { first: first.promise, second: second.promise }
}

/** A forgotten promise is logged and hurts nobody else; after a stray throw nothing is certain: stop. */
function watchForBugs(log: Log): Promise<'bug'> {
  const { promise, resolve } = Promise.withResolvers<'bug'>()
  process.on('unhandledRejection', (err) => log.error({ err }, 'unhandled promise rejection'))
  process.on('uncaughtException', (err) => {
    log.fatal({ err }, 'uncaught exception')
    resolve('bug')
  })
  return promise
}
