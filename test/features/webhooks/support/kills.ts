import { expect } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openData } from '../../../../src/cli/data/open-data.ts'
import { readConfig } from '../../../../src/config/config.ts'
import { createLog } from '../../../../src/lib/log/log.ts'
import { ON_DISK } from '../../../support/databases.ts'
import { startReceiver } from '../../../support/receiver.ts'
import { until } from '../../../support/until.ts'

const EMITTER = join(import.meta.dir, 'emitter.ts')
/** Every lease has ended by then. */
const LATER_MS = 60_000

/**
 * Emits events in a process that is killed `kills` times. Every acknowledged event must arrive. Returns how many were
 * acknowledged, and how many arrived more than once.
 */
export async function killEmitters(kills: number) {
  const dataDir = await mkdtemp(join(tmpdir(), 'homeport-webhook-kills-'))
  let seen = 0
  // Some attempts fail, and some take long enough to be interrupted.
  using receiver = startReceiver(async () => {
    seen++
    if (seen % 5 === 0) return new Response(null, { status: 500 })
    if (seen % 3 === 0) await Bun.sleep(100)
    return new Response()
  })
  const environment = {
    DATA_DIR: dataDir,
    RATES_PROVIDER: 'off',
    MIN_FREE_BYTES: '0',
    WEBHOOKS_ALLOW_PRIVATE: 'on',
  }
  const acknowledged: string[] = []
  for (let kill = 0; kill < kills; kill++) {
    const emitter = Bun.spawn([process.execPath, EMITTER, receiver.url, `run${kill}`], {
      env: { ...process.env, ...ON_DISK, ...environment },
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const output = new Response(emitter.stdout).text()
    const before = receiver.received.length
    await until(() => receiver.received.length >= before + 10, 'no events arrive')
    await Bun.sleep(Math.random() * 100)
    emitter.kill('SIGKILL')
    // The last line may be incomplete.
    acknowledged.push(...(await output).split('\n').slice(0, -1))
  }
  await deliverRest(environment)
  await rm(dataDir, { recursive: true })
  const counts = new Map<string, number>()
  for (const { body } of receiver.received) {
    const { text } = JSON.parse(body).data
    counts.set(text, (counts.get(text) ?? 0) + 1)
  }
  expect(acknowledged.length).toBeGreaterThan(kills)
  expect(acknowledged.filter((text) => !counts.has(text))).toEqual([])
  const repeated = [...counts.values()].filter((count) => count > 1).length
  return { acknowledged: acknowledged.length, repeated }
}

/** Delivers the remaining events, like a server that starts a minute later. */
async function deliverRest(environment: Record<string, string>) {
  let now = Date.now() + LATER_MS
  const config = readConfig({}, environment)
  await using data = await openData(config, createLog('error'), { now: () => new Date(now) })
  const { webhooks } = data.services
  for (;;) {
    await webhooks.flush()
    const { deliveries } = await webhooks.deliveries.list({ state: 'waiting' })
    if (deliveries.length === 0) return
    now += LATER_MS
  }
}
