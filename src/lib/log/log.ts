import { type DestinationStream, type Logger, pino } from 'pino'
import { createLogOutput, escapeControls } from './log-output.ts'

export type Log = Logger

/** Fields that are redacted at the top level and one level down. */
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

/** Logs JSON lines with the fields of `base`; secrets are redacted. */
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

/** Writes a line of trusted fields past pino, whose redaction and serialization would cost more than the routing. */
export function createLineWriter(
  log: Log,
): (level: 'info' | 'warn', fields: Record<string, string | number | undefined>) => void {
  const stream = (log as unknown as Record<symbol, DestinationStream>)[pino.symbols.streamSym]
  const { instance } = log.bindings()
  const base = instance === undefined ? '' : `,"instance":${quote(instance)}`
  let latest = { ms: 0, text: '' }
  return (level, fields) => {
    if (!log.isLevelEnabled(level)) return
    // Under load, many lines share a millisecond.
    const ms = Date.now()
    if (ms !== latest.ms) latest = { ms, text: new Date(ms).toISOString() }
    let line = `{"level":"${level}","time":"${latest.text}"${base}`
    for (const name in fields) {
      const value = fields[name]
      if (value === undefined) continue
      line += `,"${name}":${typeof value === 'number' ? value : quote(value)}`
    }
    stream?.write(`${line}}\n`)
  }
}

/** Text as JSON; most of it needs no escaping. */
function quote(text: string): string {
  return /^[\w ./:@~-]*$/.test(text) ? `"${text}"` : JSON.stringify(text)
}

/** An error for the log. A failed query includes its SQL but not its parameters, which are personal data. */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error }
  if ('query' in error) {
    return { type: error.name, query: error.query, cause: describeError(error.cause) }
  }
  const cause = error.cause === undefined ? {} : { cause: describeError(error.cause) }
  return { type: error.name, message: error.message, stack: error.stack, ...cause }
}
