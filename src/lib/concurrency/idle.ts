/** The process counts as quiet below this share of one core. */
const QUIET_SHARE = 0.02

/**
 * Calls `work` once after each busy period, when the process has been quiet for `interval` ms. `cpuTime` returns the
 * CPU time used so far, in ms. Returns a function that stops this.
 */
export function onIdleAfterLoad(
  work: () => void,
  { interval = 20_000, cpuTime = ownCpuTime } = {},
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

function ownCpuTime(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
