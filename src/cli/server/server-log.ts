import { type Config, ConfigError } from '../../config/config.ts'
import type { LiveLines } from '../../lib/log/live-lines.ts'
import { createLog, type Log } from '../../lib/log/log.ts'
import { type LogFileLimits, openLogTarget } from '../../lib/log/log-file.ts'
import { createLogOutput } from '../../lib/log/log-output.ts'

/** JSON in LOG_FILE, or LOG_FORMAT on standard output. `live` keeps the last lines. */
export async function createServerLog(config: Config, live: LiveLines): Promise<Log> {
  const { logFile, logFileBytes: maxBytes, logFileKeep: keptFiles, logLevel, instance } = config
  const base = instance === null ? null : { instance }
  if (logFile !== null) {
    const target = openLog(logFile, { maxBytes, keptFiles })
    return createLog(logLevel, live.tee(createLogOutput(target)), base)
  }
  if (!isTextLog(config)) return createLog(logLevel, live.tee(createLogOutput(1)), base)
  const { createTextFormat } = await import('../../lib/log/text-log.ts')
  const hasColors = process.stdout.isTTY && config.logColors
  return createLog(logLevel, live.tee(createLogOutput(1, createTextFormat(hasColors))))
}

/** Log rotation tools send SIGHUP after moving a log: open a new file. */
function openLog(path: string, limits: LogFileLimits) {
  try {
    const target = openLogTarget(path, limits)
    process.on('SIGHUP', () => typeof target === 'object' && target.reopen())
    return target
  } catch (error) {
    throw new ConfigError(
      `LOG_FILE cannot be opened (${(error as { code?: string }).code}): ${path}`,
    )
  }
}

export function isTextLog({ logFormat, logFile }: Config): boolean {
  if (logFile !== null) return false
  return logFormat === null ? process.stdout.isTTY : logFormat === 'text'
}

/** Whether to print the banner: only for a person who reads the log on a terminal. */
export function hasBanner(config: Config): boolean {
  return process.stdout.isTTY && isTextLog(config)
}
