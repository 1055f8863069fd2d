/** The process counts as quiet below this share of one core. */
const QUIET_SHARE = 0.02

/**
 * Calls `work` once the process is idle for `interval` ms after load. `cpuTime`: ms used so far. Returns the stop
 * function.
 */
export function onIdleAfterLoad(
  work: () => void,
  { interval = 20_000, cpuTime = readOwnCpuTime } = {},
): () => void {
  let wasBusy = false
  let before = cpuTime()
  const timer = setInterval(() => {
    const now = cpuTime()
    const isBusy = now - before > interval * QUIET_SHARE
    if (wasBusy && !isBusy) work()
    wasBusy = isBusy
    before = now
  }, interval)
  timer.unref()
  return () => clearInterval(timer)
}

function readOwnCpuTime(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
