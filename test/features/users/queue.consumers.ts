import { createTestApp } from '../../support/app.ts'
import { createGate } from '../../support/gate.ts'
import type { Consumer, QueueWorld } from '../../support/queues.ts'
import { openInstances } from '../../support/shared-database.ts'

const MINUTE = 60_000

export const consumers: Consumer[] = [
  { name: 'outbox', open: openOutbox, leaseMs: 2 * MINUTE, slots: 4, hasKeys: true },
]

async function openOutbox(): Promise<QueueWorld> {
  const app = await createTestApp()
  const [here, there] = await openInstances(app)
  const gate = createGate()
  const attempts: string[] = []
  let failures = 0
  for (const { outbox } of [here, there]) {
    outbox.deliverWith(async (message, signal) => {
      attempts.push((message as unknown as { name: string }).name)
      await gate.pass(signal)
      if (failures-- > 0) throw new Error('the relay is down')
      failures = 0
    })
  }
  return {
    app,
    here: here.outbox,
    there: there.outbox,
    gate,
    add: (sources) =>
      here.db.write(async (tx) => {
        const names = sources.map(() => crypto.randomUUID())
        for (const [at, name] of names.entries()) {
          const handling = { priority: 1, userId: null, source: sources[at] ?? null }
          await here.outbox.add(tx, { kind: 'test', name } as never, handling)
        }
        return names
      }),
    attempts: () => attempts,
    failNext: () => void failures++,
    // Messages never change, so this makes them due again, as `retryNow` does, and makes the next attempt fail.
    change: async () => {
      const { outbox } = here.db.tables
      failures++
      await here.db.write(
        async (tx) => void (await tx.update(outbox).set({ dueAt: app.clock.now })),
      )
    },
    [Symbol.asyncDispose]: app[Symbol.asyncDispose],
  }
}
