import type { SettingsReader } from './define-setting.ts'
import { oneOf } from './values.ts'

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const

/** Settings of the log. */
export function readLog({ optional, path, choice, integer, count }: SettingsReader) {
  return {
    logLevel: choice('LOG_LEVEL', LOG_LEVELS, 'info'),
    logFile: path('LOG_FILE'),
    /** The size at which the log file is rotated; `logFileKeep` older files are kept. */
    logFileBytes: count('LOG_FILE_BYTES', 16 * 1024 * 1024, 'bytes', 64 * 1024),
    logFileKeep: integer('LOG_FILE_KEEP', 5, 0, 1000),
    /** Null: text on a terminal, else JSON. */
    logFormat: optional('LOG_FORMAT', 'json or text', (text) => oneOf(['json', 'text'], text)),
  }
}
