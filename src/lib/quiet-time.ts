/** Below this share of one core's time the process counts as quiet. */
const QUIET_SHARE = 0.02

/**
 * Calls `work` once after each busy time, when the process was quiet for `interval` ms. `cpuTime` is what it has
 * used until now, in ms. Returns what ends that.
 */
export function onQuietAfterLoad(
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
