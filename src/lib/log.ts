import { type DestinationStream, type Logger, pino } from 'pino'
import { createLogOutput, escapeControls } from './log-output.ts'

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

/** JSON lines to standard output (or `stream`), one object a line with the fields of `base`, secrets redacted. */
export function createLog(
  level: string,
  stream: DestinationStream = createLogOutput(1),
  base: { instance: string } | null = null,
): Log {
  const redact = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`])
  const options = {
    level,
    base,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: redact, censor: '[redacted]' },
    serializers: { err: describeError },
  }
  return pino(options, { write: (line) => stream.write(escapeControls(line)) })
}

/**
 * Writes lines of fields that we made ourselves, straight to where the log goes: for the one line of
 * every request, redacting and serialising by pino cost more than all of the routing.
 */
export function plainLines(
  log: Log,
): (level: 'info' | 'warn', fields: Record<string, string | number | undefined>) => void {
  const stream = (log as unknown as Record<symbol, DestinationStream>)[pino.symbols.streamSym]
  const { instance } = log.bindings()
  const base = instance === undefined ? '' : `,"instance":${quoted(instance)}`
  return (level, fields) => {
    if (!log.isLevelEnabled(level)) return
    let line = `{"level":"${level}","time":"${new Date().toISOString()}"${base}`
    for (const name in fields) {
      const value = fields[name]
      if (value === undefined) continue
      line += `,"${name}":${typeof value === 'number' ? value : quoted(value)}`
    }
    stream?.write(`${line}}\n`)
  }
}

/** As JSON. Most text has nothing in it that must be escaped. */
function quoted(text: string): string {
  return /^[\w ./:@~-]*$/.test(text) ? `"${text}"` : JSON.stringify(text)
}

/** What the log says of an error. A failed query shows its SQL but not its parameters: they are personal. */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error }
  if ('query' in error) {
    return { type: error.name, query: error.query, cause: describeError(error.cause) }
  }
  const cause = error.cause === undefined ? {} : { cause: describeError(error.cause) }
  return { type: error.name, message: error.message, stack: error.stack, ...cause }
}
