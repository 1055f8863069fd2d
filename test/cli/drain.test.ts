import { expect, test } from 'bun:test'
import { drain } from '../../src/cli/server/serving-socket.ts'
import { createLog } from '../../src/lib/log/log.ts'
import { fault } from '../support/fault.ts'
import { simulateDelay } from '../support/until.ts'

const never = new Promise<never>(() => {})

test(`running requests may finish; stuck ones are cut off at the time limit or a second signal ${fault(29)}`, async () => {
  const lines: string[] = []
  const log = createLog('info', { write: (line) => lines.push(line) })
  for (const [workMs, secondSignal, outcome] of [
    [50, never, null],
    [60_000, never, 'timeout'],
    [60_000, Promise.resolve(), 'second signal'],
  ] as const) {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
    const server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: async () => {
        arrive()
        await simulateDelay(workMs)
        return new Response('done')
      },
    })
    const reply = fetch(server.url)
      .then((response) => response.text())
      .catch(() => 'cut')
    await arrived
    const start = performance.now()
    await drain(server, secondSignal, log, outcome === 'timeout' ? 200 : 10_000)
    expect(performance.now() - start).toBeLessThan(5_000)
    expect(await reply).toBe(outcome === null ? 'done' : 'cut')
    expect(lines.splice(0).some((line) => line.includes(`"${outcome}"`))).toBe(outcome !== null)
  }
})
