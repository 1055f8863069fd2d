import type { Config } from '../config.ts'
import { EXIT } from '../lib/command.ts'
import { createLiveLines } from '../lib/live-lines.ts'
import type { Log } from '../lib/log.ts'
import type { LocalCommand } from './command.ts'
import { isServing } from './command-socket.ts'
import { isUnreachable } from './open-data.ts'
import { runServer, type StopSignals } from './run-server.ts'
import { createServerLog, isForPeople } from './server-log.ts'
import { createNotifier } from './service/notify.ts'

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
    const notifier = createNotifier(chosen, log)
    const server = { config: chosen, log, liveLines, notifier, signals, failed }
    const isSuccessor = takeover === true && (await isServing(chosen))
    try {
      let outcome = await runServer(server, isSuccessor ? 'successor' : 'first', demo === true)
      while (outcome === 'returning') {
        log.error('the next process ended before it served: this one serves again')
        outcome = await runServer(server, 'returning', false)
      }
      return outcome
    } catch (error) {
      if (signals.isStopping() && isUnreachable(error)) return EXIT.done
      // Standard error has a sentence for people; what reads the log finds it there.
      if (!isForPeople(chosen)) log.fatal({ reason: reasonOf(error) }, 'the server ends')
      throw error
    }
  },
}

/** Without what was asked of a database, which may be personal. */
function reasonOf(thrown: unknown): string {
  const error = thrown instanceof SuppressedError ? thrown.suppressed : thrown
  return error instanceof Error && !('query' in error) ? error.message : 'an unexpected error'
}

/** SIGHUP has another meaning where the log is a file: see `createServerLog`. */
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
