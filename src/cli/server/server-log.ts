import { type Config, ConfigError } from '../../config/config.ts'
import { describeInsecureStore } from '../../features/attachments/storage/file-settings.ts'
import type { LiveLines } from '../../lib/log/live-lines.ts'
import { createLog, type Log } from '../../lib/log/log.ts'
import { type LogFileLimits, openLogTarget } from '../../lib/log/log-file.ts'
import { createLogOutput } from '../../lib/log/log-output.ts'
import { BUILD } from '../../version.ts'
import { listFolderWarnings } from '../data/data-directory.ts'

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

/** Warns about the configuration, and then logs where the server listens. */
export function announce(config: Config, { url, hostname, port }: Bun.Server<unknown>, log: Log) {
  const { dataDir, webhookTokens, baseUrl, smtpUrl, rateLimits, misspelled } = config
  for (const { name, meant } of misspelled) {
    log.warn(`${name} is not a known variable: did you mean ${meant}?`)
  }
  for (const sentence of [...config.warnings, ...listFolderWarnings(config)]) log.warn(sentence)
  const exposed = describeInsecureStore(config)
  if (exposed !== null) log.warn(exposed)
  if (smtpUrl === null) log.warn('SMTP_URL is not set: e-mails are written to DATA_DIR/outbox')
  if (config.appStoreRoot !== null)
    log.warn('APP_STORE_ROOT_FILE is set: purchases need not be signed by Apple')
  if (config.appStoreApiUrl !== null)
    log.warn('APP_STORE_API_URL is set: purchases are not checked with Apple')
  if (config.playApiUrl !== null)
    log.warn('PLAY_API_URL is set: purchases are not checked with Google')
  if (config.playTokenUrl !== null)
    log.warn('PLAY_TOKEN_URL is set: Google does not issue the access tokens')
  if (config.playJwksUrl !== null)
    log.warn('PLAY_JWKS_URL is set: notifications need not come from Google')
  if (!rateLimits) log.warn('RATE_LIMITS is off: passwords can be guessed without limit')
  if (webhookTokens.length === 0)
    log.warn('WEBHOOK_TOKEN is not set: billing events are refused with 503')
  if (webhookTokens.some(({ length }) => length < 16)) {
    log.warn('WEBHOOK_TOKEN is short: use at least 16 random characters')
  }
  if (baseUrl === null)
    log.warn(
      'BASE_URL is not set: links in e-mails point to localhost, file URLs to the Host of the request',
    )
  if (isTextLog(config)) {
    const isForBaseUrl = config.isTls || config.socketPath !== null
    const address = (isForBaseUrl && baseUrl) || localUrl(config.host, port ?? config.port)
    const place = config.socketPath === null ? describePlace(hostname, port) : config.host
    const open = `${address}/docs`
    log.info(
      `Homeport ${BUILD} is listening on ${place}, with its data in ${dataDir}. Open ${open}`,
    )
  } else
    log.info(
      { version: BUILD, url: (config.isTls && baseUrl) || url.href, dataDir, pid: process.pid },
      'listening',
    )
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

/** An address with its port, and which protocols a wildcard accepts. */
function describePlace(hostname = '', port = 0): string {
  const kinds = { '::': ' (IPv4 and IPv6)', '0.0.0.0': ' (IPv4 only)' }[hostname] ?? ''
  return `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}${kinds}`
}

/** The URL for a browser on this machine, which cannot open a wildcard address. */
function localUrl(host: string, port: number): string {
  const address = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`
}
