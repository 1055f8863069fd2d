import { afterAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Driver } from '../apps/conformance/driver-process.ts'
import { runScenario } from '../apps/conformance/run.ts'
import { SCENARIOS } from '../apps/conformance/scenarios/all.ts'

/** Starts the driver of the TypeScript client; every client passes the same scenarios. */
const COMMAND = [process.execPath, join(import.meta.dir, '..', 'apps', 'conformance', 'driver.ts')]
/** How many scenarios run at the same time, each with a process or two. */
const LANES = 3
/** Includes the wait for a lane. */
const TIMEOUT_MS = 60_000

const pool: Driver[] = []
const lanes: Promise<unknown>[] = Array.from({ length: LANES }, () => Promise.resolve())

afterAll(async () => {
  for (const driver of pool) await driver.kill()
})

describe('the TypeScript client', () => {
  test.concurrent.each(SCENARIOS.map((scenario, at) => [scenario.name, scenario, at] as const))(
    '%s',
    async (_name, scenario, at) => {
      const run = () => runScenario(scenario, COMMAND, pool)
      const result = (lanes[at % LANES] as Promise<unknown>).then(run, run)
      lanes[at % LANES] = result
      await result
    },
    TIMEOUT_MS,
  )
})

test('scenario names are unique', () => {
  const names = SCENARIOS.map(({ name }) => name)
  expect(names).toEqual([...new Set(names)])
})
