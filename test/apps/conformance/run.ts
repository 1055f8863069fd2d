import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type Driver, limits } from './driver-process.ts'
import { SCENARIOS } from './scenarios/all.ts'
import { startServer } from './server.ts'
import type { Scenario } from './types.ts'
import { createWorld } from './world.ts'

/**
 * Runs a scenario against the driver that `command` starts. Throws an error that names the failed step. `pool`:
 * processes to reuse, for drivers that accept `create` again.
 */
export async function runScenario(scenario: Scenario, command: string[], pool?: Driver[]) {
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'))
  const server = await startServer(scenario.server)
  const world = createWorld({ scenario, command, folder, server, pool })
  try {
    for (const [at, step] of scenario.steps.entries()) {
      try {
        await world.perform(step)
      } catch (error) {
        const log = world.readErrors()
        const message = error instanceof Error ? error.message : String(error)
        throw new Error(`step ${at + 1}: ${JSON.stringify(step)}\n${message}${log && `\n${log}`}`)
      }
    }
  } finally {
    server.stop()
    await world.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      driver: { type: 'string', default: `bun ${join(import.meta.dir, 'driver.ts')}` },
      only: { type: 'string', default: '' },
      /** How many scenarios run at a time. */
      at: { type: 'string', default: '2' },
      /** For drivers that accept `create` again: one process for many scenarios. */
      reuse: { type: 'boolean', default: false },
      limit: { type: 'string', default: String(limits.answerMs) },
    },
  })
  limits.answerMs = Number(values.limit)
  const chosen = SCENARIOS.filter(({ name }) => name.includes(values.only))
  const command = values.driver.split(' ').filter((word) => word !== '')
  const failed: string[] = []
  const startedAt = performance.now()
  const queue = [...chosen]
  const pool: Driver[] | undefined = values.reuse ? [] : undefined
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const wrong = await runScenario(next, command, pool).then(() => null, String)
      console.log(`${wrong === null ? 'pass' : 'FAIL'}  ${next.name}`)
      if (wrong === null) continue
      failed.push(next.name)
      console.log(wrong.replace(/^/gm, '      '))
    }
  }
  await Promise.all(Array.from({ length: Number(values.at) }, work))
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(`\n${chosen.length - failed.length} of ${chosen.length} passed in ${seconds} s`)
  for (const name of failed) console.log(`  failed: ${name}`)
  process.exit(failed.length === 0 ? 0 : 1)
}
