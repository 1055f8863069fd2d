import { oneOf, wholeNumber } from './setting-values.ts'
import type { SettingsReader } from './settings-reader.ts'

const FORMATS = ['json', 'text'] as const
const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const
/** What is gathered for one write must fit. */
const MIN_FILE_BYTES = 64 * 1024

/** The variables of the log. `toPath` makes a path absolute. */
export function readLogSettings(read: SettingsReader, toPath: (text: string) => string) {
  return {
    logLevel: read('LOG_LEVEL', 'info', `one of ${LEVELS.join(', ')}`, (text) =>
      oneOf(LEVELS, text),
    ),
    logFile: read<string | null>('LOG_FILE', null, 'a path', toPath),
    /** The log file moves aside at this size; so many older ones are kept. */
    logFileBytes: read(
      'LOG_FILE_BYTES',
      16 * 1024 * 1024,
      `a number of bytes from ${MIN_FILE_BYTES}`,
      (text) => {
        const bytes = wholeNumber(text, Number.MAX_SAFE_INTEGER)
        return bytes !== undefined && bytes >= MIN_FILE_BYTES ? bytes : undefined
      },
    ),
    logFileKeep: read('LOG_FILE_KEEP', 5, 'a number from 0 to 1000', (text) =>
      wholeNumber(text, 1000),
    ),
    /** Null: text on a terminal, else JSON. */
    logFormat: read<(typeof FORMATS)[number] | null>('LOG_FORMAT', null, 'json or text', (text) =>
      oneOf(FORMATS, text),
    ),
  }
}
