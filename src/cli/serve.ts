import type { Config } from '../config.ts'
import { EXIT } from '../lib/command.ts'
import { createLiveLines } from '../lib/live-lines.ts'
import type { Log } from '../lib/log.ts'
import type { LocalCommand } from './command.ts'
import { isServing } from './command-socket.ts'
import { isUnreachable } from './open-data.ts'
import { runServer, type StopSignals } from './run-server.ts'
import { createServerLog, isTextLog } from './server-log.ts'
import { createNotifier } from './service/notify.ts'

export const serve: LocalCommand = {
  name: 'serve',
  summary: 'Run the server (the default)',
  options: [
    ['--port <port>', 'overrides PORT'],
    ['--host <host>', 'overrides HOST'],
    ['--data-dir <path>', 'overrides DATA_DIR'],
    ['--takeover', 'replace the server that uses the data, without downtime'],
    ['--demo', 'add demo users, events and pictures to an empty database'],
  ],
  run: async (config, { demo, takeover }) => {
    const chosen = config()
    const signals = stopSignals(chosen)
    const liveLines = createLiveLines()
    const log = await createServerLog(chosen, liveLines)
    const failed = watchForBugs(log)
    const notifier = createNotifier(chosen, log)
    const server = { config: chosen, log, liveLines, notifier, signals, failed }
    const isSuccessor = takeover === true && (await isServing(chosen))
    try {
      let outcome = await runServer(server, isSuccessor ? 'successor' : 'first', demo === true)
      while (outcome === 'returning') {
        log.error('the new process ended before it was serving: this one resumes serving')
        outcome = await runServer(server, 'returning', false)
      }
      return outcome
    } catch (error) {
      if (signals.isStopping() && isUnreachable(error)) return EXIT.done
      // Standard error gets a readable sentence; log collectors need it in the log.
      if (!isTextLog(chosen)) log.fatal({ reason: reasonOf(error) }, 'the server stops')
      throw error
    }
  },
}

/** Hides database queries, which may contain personal data. */
function reasonOf(thrown: unknown): string {
  const error = thrown instanceof SuppressedError ? thrown.suppressed : thrown
  return error instanceof Error && !('query' in error) ? error.message : 'an unexpected error'
}

/** SIGHUP reopens the log when it is a file: see `createServerLog`. */
function stopSignals({ logFile }: Config): StopSignals {
  const first = Promise.withResolvers<string>()
  const second = Promise.withResolvers<string>()
  let count = 0
  const stopping = ['SIGTERM', 'SIGINT', ...(logFile === null ? ['SIGHUP'] : [])]
  for (const signal of stopping) {
    process.on(signal, () => (count++ === 0 ? first : second).resolve(signal))
  }
  return { first: first.promise, second: second.promise, isStopping: () => count > 0 }
}

/** An unhandled rejection is logged and does no further harm. After an uncaught exception the state is unknown: stop. */
function watchForBugs(log: Log): Promise<'bug'> {
  const { promise, resolve } = Promise.withResolvers<'bug'>()
  process.on('unhandledRejection', (err) => log.error({ err }, 'unhandled promise rejection'))
  process.on('uncaughtException', (err) => {
    log.fatal({ err }, 'uncaught exception')
    resolve('bug')
  })
  return promise
}
