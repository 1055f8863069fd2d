import { type DestinationStream, destination, type Logger, pino } from 'pino'

export type Log = Logger

/** Field names whose values never reach the log, at the top or one level down. */
const SECRET_FIELDS = [
  'password',
  'currentPassword',
  'newPassword',
  'authorization',
  'accessToken',
  'refreshToken',
  'idToken',
  'token',
]

/** The log lines wait in memory for at most this long, in ms; a crash handler calls `flushLog`. */
const FLUSH_INTERVAL = 500

/** JSON lines to standard output (or `stream`), one object a line, with secrets redacted. */
export function createLog(level: string, stream?: DestinationStream): Log {
  const redact = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`])
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: redact, censor: '[redacted]' },
    serializers: { err: describeError },
  }
  if (stream) return pino(options, stream)
  const output = destination({ dest: 1, sync: true, minLength: 8192 })
  setInterval(() => flushQuietly(output), FLUSH_INTERVAL).unref()
  process.on('exit', () => flushQuietly(output))
  return pino(options, output)
}

function flushQuietly(output: { flushSync(): void }) {
  try {
    output.flushSync()
  } catch {
    // Standard output is gone: there is nobody left to tell.
  }
}

/** What the log says of an error. A failed query shows its SQL but not its parameters: they are personal. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error }
  if ('query' in error) {
    return { type: error.name, query: error.query, cause: describeError(error.cause) }
  }
  const cause = error.cause === undefined ? {} : { cause: describeError(error.cause) }
  return { type: error.name, message: error.message, stack: error.stack, ...cause }
}
