/** Below this share of one core's time the process counts as quiet. */
const QUIET_SHARE = 0.02

/**
 * Calls `work` once after each busy time, when the process was quiet for `interval` ms. Returns what ends that.
 */
export function onQuietAfterLoad(work: () => void, interval = 20_000): () => void {
  let wasBusy = false
  let before = process.cpuUsage()
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(before)
    const isBusy = (user + system) / 1000 > interval * QUIET_SHARE
    if (wasBusy && !isBusy) work()
    wasBusy = isBusy
    before = process.cpuUsage()
  }, interval)
  timer.unref()
  return () => clearInterval(timer)
}
