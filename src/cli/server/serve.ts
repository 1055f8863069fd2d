import type { Config } from '../../config/config.ts'
import { EXIT } from '../../lib/command.ts'
import { createLiveLines } from '../../lib/log/live-lines.ts'
import type { Log } from '../../lib/log/log.ts'
import type { LocalCommand } from '../command.ts'
import { isUnreachable } from '../data/open-data.ts'
import { newDemoToken } from '../demo/guide.ts'
import { listStopSignals } from '../processes/stop-signals.ts'
import { createNotifier } from '../service/notify.ts'
import { detectStandIn } from '../service/stand-in.ts'
import { isServing } from './command-socket.ts'
import { runServer, type StopSignals } from './run-server.ts'
import { createServerLog, hasBanner, isTextLog } from './server-log.ts'

export const serve: LocalCommand = {
  name: 'serve',
  summary: 'Run the server (the default); --demo adds example users',
  options: [
    ['--port <port>', 'overrides PORT'],
    ['--host <host>', 'overrides HOST'],
    ['--data-dir <path>', 'overrides DATA_DIR'],
    ['--takeover', 'replace the server that uses the data, without downtime'],
    ['--demo', 'add demo users, events and images to an empty database'],
    ['--open', 'open the console in the browser'],
  ],
  run: async (loadConfig, { demo, open, takeover }) => {
    const isDemo = demo === true
    const config = isDemo ? withWebhookToken(loadConfig()) : loadConfig()
    const signals = stopSignals(config)
    detectStandIn()
    const liveLines = createLiveLines()
    const log = await createServerLog(config, liveLines)
    const failed = catchUnhandledErrors(log)
    const notifier = createNotifier(config, log)
    const options = { isDemo, opens: open === true }
    const server = { config, log, liveLines, notifier, signals, failed, ...options }
    const isSuccessor = takeover === true && (await isServing(config))
    try {
      let outcome = await runServer(server, isSuccessor ? 'successor' : 'first')
      while (outcome === 'resuming') {
        log.error('the new process exited before it was serving: this one resumes serving')
        outcome = await runServer(server, 'resuming')
      }
      return outcome
    } catch (error) {
      if (signals.isStopping() && isUnreachable(error)) return EXIT.done
      // Standard error gets a readable sentence; log collectors need the reason in the log.
      if (!isTextLog(config)) log.fatal({ reason: describeReason(error) }, 'the server failed')
      throw error
    }
  },
}

/** A demo accepts billing events, with a token that its banner shows. */
function withWebhookToken(config: Config): Config {
  if (config.webhookTokens.length > 0 || !hasBanner(config)) return config
  return { ...config, webhookTokens: [newDemoToken()] }
}

/** Hides database queries, which may contain personal data. */
function describeReason(thrown: unknown): string {
  const error = thrown instanceof SuppressedError ? thrown.suppressed : thrown
  return error instanceof Error && !('query' in error) ? error.message : 'an unexpected error'
}

/** SIGHUP does not stop a server that reopens its log file, or that `nohup` keeps alive after its terminal closes. */
function stopSignals({ logFile }: Config): StopSignals {
  const first = Promise.withResolvers<string>()
  const second = Promise.withResolvers<string>()
  let count = 0
  const reopensLog = logFile !== null
  for (const signal of listStopSignals()) {
    if (signal === 'SIGHUP' && reopensLog) continue
    process.on(signal, () => (count++ === 0 ? first : second).resolve(signal))
  }
  return { first: first.promise, second: second.promise, isStopping: () => count > 0 }
}

/** An unhandled rejection is only logged. After an uncaught exception the state is unknown: stop. */
function catchUnhandledErrors(log: Log): Promise<'bug'> {
  const { promise, resolve } = Promise.withResolvers<'bug'>()
  process.on('unhandledRejection', (err) => log.error({ err }, 'unhandled promise rejection'))
  process.on('uncaughtException', (err) => {
    log.fatal({ err }, 'uncaught exception')
    resolve('bug')
  })
  return promise
}
