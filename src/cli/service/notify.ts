import type { Config } from '../../config/config.ts'
import type { Log } from '../../lib/log/log.ts'
import { sendDatagram } from '../../lib/net/sockets.ts'

/** systemd stops a service whose main process it does not know, and a machine may briefly be out of processes. */
const MAIN_PID_ATTEMPTS = 3
const RETRY_DELAY_MS = 500
/** Ping the watchdog twice per period. */
const WATCHDOG_SHARE = 0.5

/** Reports to systemd or a container engine; does nothing without one. `ready` starts the watchdog's pings. */
export function createNotifier({ notifySocket, watchdogMs }: Config, log: Log) {
  let timer: Timer | undefined
  return { announceMainPid, ready, stopping }

  /** Makes this process the main process of the service. */
  function announceMainPid() {
    return notify([`MAINPID=${process.pid}`], MAIN_PID_ATTEMPTS)
  }

  async function ready() {
    clearInterval(timer)
    await notify([`MAINPID=${process.pid}`, 'READY=1'], MAIN_PID_ATTEMPTS)
    if (watchdogMs === null || notifySocket === null) return
    timer = setInterval(() => notify(['WATCHDOG=1']), watchdogMs * WATCHDOG_SHARE).unref()
  }

  async function stopping() {
    clearInterval(timer)
    await notify(['STOPPING=1'])
  }

  async function notify(words: string[], attempts = 1): Promise<void> {
    if (notifySocket === null) return
    try {
      await send(words, notifySocket)
    } catch (err) {
      if (attempts === 1)
        return log.warn({ err }, 'systemd could not be notified of the state of the service')
      await Bun.sleep(RETRY_DELAY_MS)
      await notify(words, attempts - 1)
    }
  }
}

/** Containers lack `systemd-notify`; systems other than Linux lack the system call. */
async function send(words: string[], socket: string) {
  if (sendDatagram(socket, words.join('\n'))) return
  const child = Bun.spawn(['systemd-notify', ...words], { stdio: ['ignore', 'ignore', 'pipe'] })
  if ((await child.exited) !== 0) throw new Error((await child.stderr.text()).trim())
}
