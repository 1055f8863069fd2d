import { createApp } from '../app.ts'
import type { Config } from '../config.ts'
import { timersOf } from '../features.ts'
import { IDLE_TIMEOUT } from '../http/body.ts'
import { failureBody, internalError } from '../http/errors.ts'
import type { Log } from '../lib/log.ts'
import { onQuietAfterLoad } from '../lib/quiet-time.ts'
import { startTimers } from '../lib/timer.ts'
import type { Services } from '../services.ts'
import { holdCommand } from './backup/backup.ts'
import { backupTimers } from './backup/timers.ts'
import { waitForDamage } from './check-database.ts'
import { EXIT, type LocalCommand } from './command.ts'
import { serveCommands } from './command-socket.ts'
import { dataCommands } from './data-commands.ts'
import { DataError, databasePath, openData } from './data-directory.ts'
import { addDemoData } from './demo.ts'
import { drain } from './drain.ts'
import { readinessCommand } from './health.ts'
import { announce, createServerLog } from './server-log.ts'

/** Above every cap of ours, so that a body that is too large gets our answer and not Bun's. */
const MAX_BODY = 128 * 1024 * 1024

export const serve: LocalCommand = {
  name: 'serve',
  summary: 'Run the server (the default)',
  options: [
    ['--port <port>', 'wins over PORT'],
    ['--host <host>', 'wins over HOST'],
    ['--data-dir <path>', 'wins over DATA_DIR'],
    ['--demo', 'add demo people, events and pictures to an empty database'],
  ],
  run: async (config, { demo }) => {
    const signals = stopSignals()
    const chosen = config()
    const log = await createServerLog(chosen)
    const failed = watchForBugs(log)
    await using stack = new AsyncDisposableStack()
    const { services } = stack.use(await openData(chosen, log, { servingSince: new Date() }))
    if (demo) await addDemoData(services, log)
    const server = listen(services, log)
    // What nobody waits for comes after what somebody may: phones are answered by now.
    const commands = await serveCommands(
      services,
      [...dataCommands, readinessCommand, holdCommand],
      log,
    )
    const stopTimers = startTimers([...timersOf(services), ...backupTimers(chosen, log)], log)
    stack.defer(stopTimers)
    stack.defer(onQuietAfterLoad(() => releaseMemory(services)))
    stack.defer(() => commands.stop(true))
    stack.defer(() => drain(server, signals.second, log))
    announce(chosen, server, log)
    const checking = new AbortController()
    stack.defer(() => checking.abort())
    const damaged = waitForDamage(databasePath(chosen), checking.signal)
    const reason = await Promise.race([signals.first, failed, damaged])
    log.info({ reason }, 'stopping')
    if (reason !== 'damage') return reason === 'bug' ? EXIT.failed : EXIT.done
    log.fatal('the database is damaged: restore it from a backup')
    await services.db.stopWriting('the database is damaged')
    return EXIT.failed
  },
}

function listen(services: Services, log: Log) {
  const { port, host } = services.config
  try {
    const app = createApp(services).listen({
      port,
      hostname: host,
      reusePort: false,
      maxRequestBodySize: MAX_BODY,
      idleTimeout: IDLE_TIMEOUT,
      // What no hook has caught: somebody has thrown what is no error.
      error(error) {
        log.error({ err: error }, 'request failed')
        return Response.json(failureBody(internalError(), crypto.randomUUID()), { status: 500 })
      },
    })
    if (!app.server) throw new Error('the server did not start')
    return app.server
  } catch (error) {
    throw new DataError(reasonNotToListen((error as { code?: string }).code, services.config), {
      cause: error,
    })
  }
}

function reasonNotToListen(code: string | undefined, { host, port }: Config): string {
  if (code === 'EADDRINUSE') {
    return `Port ${port} is in use: choose another one with PORT or --port.`
  }
  if (code === 'EACCES') {
    return `Port ${port} is not allowed to this user: choose one above 1023 with PORT or --port, behind a proxy.`
  }
  return `HOST ${host} is no address of this machine (${code}): take 127.0.0.1, or 0.0.0.0 for all.`
}

/** Gives back what a busy time has left: first the pages of the database, for the collector unmaps what is free. */
function releaseMemory({ db }: Services) {
  db.dropCaches()
  Bun.gc(true)
}

function stopSignals() {
  const first = Promise.withResolvers<string>()
  const second = Promise.withResolvers<string>()
  let count = 0
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
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
