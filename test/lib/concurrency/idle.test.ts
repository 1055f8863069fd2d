import { expect, test } from 'bun:test'
import { onIdleAfterLoad } from '../../../src/lib/concurrency/idle.ts'
import { until } from '../../support/until.ts'

test('runs the work once after each busy period', async () => {
  // CPU time in ms at each check: an increase of 50 ms means busy, no increase means quiet.
  const cpuTimes = [0, 0, 50, 100, 100, 100, 150, 150, 150]
  const runs: number[] = []
  let checks = 0
  const stop = onIdleAfterLoad(() => runs.push(checks), {
    interval: 5,
    cpuTime: () => cpuTimes[Math.min(checks++, cpuTimes.length - 1)] ?? 0,
  })
  await until(() => checks >= cpuTimes.length + 3, 'the load is not checked')
  stop()
  expect(runs).toEqual([5, 8])
})
