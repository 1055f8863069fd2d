import { formatCommand } from '../../config/command-line.ts'
import type { Config } from '../../config/config.ts'
import type { Log } from '../../lib/log/log.ts'
import { createLogOutput, drainLogs } from '../../lib/log/log-output.ts'
import { findConsoleUrl } from '../../platform/public-url.ts'
import type { Services } from '../../server/services.ts'
import { BUILD } from '../../version.ts'
import { currentUser } from '../command.ts'
import { describeDemo } from '../demo/guide.ts'
import { openInBrowser } from './browser.ts'
import { hasBanner, isTextLog } from './server-log.ts'
import { listFaults, listMissing } from './warnings.ts'

type AnnouncementDeps = {
  config: Config
  services: Services
  log: Log
  isDemo: boolean
  /** Whether to open the console in the browser. */
  opens: boolean
}

/** Addresses that a browser on this machine can reach as `localhost`. */
const LOCAL_HOSTS = /^(0\.0\.0\.0|::|localhost|127\.[\d.]+|::1)$/
const SET_UP = 'Creates the first operator: once, within 30 minutes, in a browser on this machine'
const SIGN_IN = 'Signs in without a passkey, in a browser on this machine'

/** Announces where the server listens: in a banner on a terminal, otherwise in the log. */
export async function announce(server: Bun.Server<unknown>, deps: AnnouncementDeps) {
  const { config, services, log, isDemo, opens } = deps
  const { isTls, baseUrl, socketPath, dataDir } = config
  const showsBanner = hasBanner(config)
  const isPublic = isTls || socketPath !== null
  const address = (isPublic && baseUrl) || localUrl(config.host, server.port ?? config.port)
  const ownConsole = config.console ? `${address}/console` : null
  const consoleUrl = config.consolePort === null ? ownConsole : findConsoleUrl(config)
  const offer = showsBanner || opens ? await offerLink(config, services, isDemo) : null
  const link = consoleUrl !== null && offer !== null ? `${consoleUrl}#${offer.token}` : consoleUrl
  for (const sentence of listFaults(config)) log.warn(sentence)
  const missing = await listMissing(config, services)
  if (showsBanner) {
    const doctor = formatCommand(config, 'doctor')
    await printBanner([
      `Homeport ${BUILD}`,
      '',
      ...(link === null ? [] : [`  Console        ${link}`]),
      ...(offer === null ? [] : [`                 ${offer.meaning}`]),
      `  API reference  ${address}/docs`,
      `  Data folder    ${dataDir}`,
      ...(isDemo ? await describeDemo(services, address) : []),
      '',
      ...(missing.length === 0
        ? []
        : [
            `${missing.length} ${missing.length === 1 ? 'thing' : 'things'} to set before production: ${doctor}`,
            '',
          ]),
    ])
  } else {
    for (const sentence of missing) log.warn(sentence)
    logAddress(server, address, config, log)
  }
  if (opens && link !== null) openInBrowser(link)
}

function logAddress(
  { url, hostname, port }: Bun.Server<unknown>,
  address: string,
  config: Config,
  log: Log,
) {
  const { isTls, baseUrl, socketPath, dataDir } = config
  if (isTextLog(config)) {
    const place = socketPath === null ? describePlace(hostname, port) : config.host
    log.info(
      `Homeport ${BUILD} is listening on ${place}, with its data in ${dataDir}. Open ${address}/docs`,
    )
  } else
    log.info(
      { version: BUILD, url: (isTls && baseUrl) || url.href, dataDir, pid: process.pid },
      'listening',
    )
}

/** A link for a browser on this machine, as the part after `#`. Null if none is needed, or none would work. */
async function offerLink(config: Config, { operators }: Services, isDemo: boolean) {
  const { isTls, socketPath, host, consoleNetworks } = config
  const isReachable = config.console && !isTls && socketPath === null && LOCAL_HOSTS.test(host)
  if (!isReachable || consoleNetworks.length > 0) return null
  const demoToken = isDemo ? await operators.demo.enable() : null
  if (demoToken !== null) return { token: `demo=${demoToken}`, meaning: SIGN_IN }
  // A database that stops right after the start must not stop the server.
  const hasOperator = await operators.accounts.hasAny().catch(() => true)
  if (hasOperator) return null
  const user = currentUser().replace(/^[^\p{L}\p{N}]+/u, '')
  const name = ['', 'root', 'unknown'].includes(user) ? 'owner' : user
  return { token: `setup=${operators.firstLink.offer(name)}`, meaning: SET_UP }
}

/** Bypasses the log, because the links are secret, but waits for log lines that are still being written. */
async function printBanner(lines: string[]) {
  await drainLogs()
  createLogOutput(1, (text) => text).write(`\n${lines.join('\n')}\n`)
}

/** An address with its port, and which protocols a wildcard accepts. */
function describePlace(hostname = '', port = 0): string {
  const kinds = { '::': ' (IPv4 and IPv6)', '0.0.0.0': ' (IPv4 only)' }[hostname] ?? ''
  return `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}${kinds}`
}

/** The URL for a browser on this machine. It cannot open a wildcard address, and passkeys require a name. */
function localUrl(host: string, port: number): string {
  const address = LOCAL_HOSTS.test(host) ? 'localhost' : host
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}`
}
