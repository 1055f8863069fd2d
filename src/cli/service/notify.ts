import type { Config } from '../../config.ts'
import type { Log } from '../../lib/log.ts'

/** Half of the time after which the service manager would take us for hung. */
const SHARE = 0.5

/**
 * Tells systemd how the service is (`sd_notify`), by its own `systemd-notify`; nothing where it does not listen.
 * `ready` also begins the signs of life that its watchdog wants.
 */
export function createNotifier({ notifySocket, watchdogMs }: Config, log: Log) {
  let timer: Timer | undefined
  return { announceMainPid, ready, stopping }

  /** This process is the service from now on. */
  function announceMainPid() {
    return tell(`MAINPID=${process.pid}`)
  }

  async function ready() {
    clearInterval(timer)
    await tell(`MAINPID=${process.pid}`, 'READY=1')
    if (watchdogMs === null || notifySocket === null) return
    timer = setInterval(() => tell('WATCHDOG=1'), watchdogMs * SHARE).unref()
  }

  async function stopping() {
    clearInterval(timer)
    await tell('STOPPING=1')
  }

  async function tell(...words: string[]) {
    if (notifySocket === null) return
    try {
      const child = Bun.spawn(['systemd-notify', ...words], { stdio: ['ignore', 'ignore', 'pipe'] })
      if ((await child.exited) !== 0) throw new Error((await child.stderr.text()).trim())
    } catch (err) {
      log.warn({ err }, 'systemd cannot be told how the service is')
    }
  }
}
