import { expect, test } from 'bun:test'
import { runStoreSoak } from '../../soak/stores/soak.ts'

const HOUR = 60 * 60 * 1000

test('after months of lost messages, outages and a killed server, all purchases match the stores', async () => {
  const options = { users: 15, months: 2, seed: 7, kills: 2, tick: 2 * HOUR }
  const outcome = await runStoreSoak(options, () => {})
  expect(outcome).toMatchObject({
    differing: [],
    unexpected: [],
    losses: [],
    unacknowledged: 0,
    rebuilt: 0,
    kills: 2,
    maxParallelPerToken: 1,
  })
  expect(outcome.checks).toBeGreaterThan(20)
}, 120_000)
