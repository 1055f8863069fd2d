import type { Config } from '../../config.ts'
import type { Log } from '../../lib/log.ts'

/** The machine may be short of memory or processes for a moment. */
const ATTEMPTS = 3
const RETRY_DELAY_MS = 500
/** Ping the watchdog twice per period. */
const WATCHDOG_SHARE = 0.5

/**
 * Reports the state of the service to systemd with `systemd-notify`; does nothing without systemd. `ready` also starts
 * the pings to its watchdog.
 */
export function createNotifier({ notifySocket, watchdogMs }: Config, log: Log) {
  let timer: Timer | undefined
  return { announceMainPid, ready, stopping }

  /** Makes this process the main process of the service. */
  function announceMainPid() {
    return notify(`MAINPID=${process.pid}`)
  }

  async function ready() {
    clearInterval(timer)
    await notify(`MAINPID=${process.pid}`, 'READY=1')
    if (watchdogMs === null || notifySocket === null) return
    timer = setInterval(() => notify('WATCHDOG=1'), watchdogMs * WATCHDOG_SHARE).unref()
  }

  async function stopping() {
    clearInterval(timer)
    await notify('STOPPING=1')
  }

  async function notify(...words: string[]) {
    if (notifySocket === null) return
    for (let attempt = 1; ; attempt++) {
      try {
        return await send(words)
      } catch (err) {
        // systemd ends a service whose main process it does not know.
        if (attempt < ATTEMPTS) await Bun.sleep(RETRY_DELAY_MS)
        else return log.warn({ err }, 'systemd could not be notified of the state of the service')
      }
    }
  }
}

async function send(words: string[]) {
  const child = Bun.spawn(['systemd-notify', ...words], { stdio: ['ignore', 'ignore', 'pipe'] })
  if ((await child.exited) !== 0) throw new Error((await child.stderr.text()).trim())
}
