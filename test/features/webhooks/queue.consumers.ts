import { createTestApp } from '../../support/app.ts'
import { createGate } from '../../support/gate.ts'
import type { Consumer, QueueWorld } from '../../support/queues.ts'
import { startReceiver } from '../../support/receiver.ts'
import { openInstances } from '../../support/shared-database.ts'

export const consumers: Consumer[] = [
  { name: 'webhooks', open: openWebhooks, leaseMs: 30_000, slots: 8, hasKeys: true },
]

async function openWebhooks(): Promise<QueueWorld> {
  const gate = createGate()
  let failures = 0
  const receiver = startReceiver(async () => {
    await gate.held()
    return new Response(null, { status: failures-- > 0 ? 500 : 204 })
  })
  const app = await createTestApp({ WEBHOOKS_ALLOW_PRIVATE: 'on' })
  const [here, there] = await openInstances(app)
  const types = { one: 'user.created', other: 'user.updated' } as const
  for (const type of Object.values(types))
    await here.webhooks.endpoints.add({ url: receiver.url, events: [type] })
  return {
    app,
    here: here.webhooks,
    there: there.webhooks,
    gate,
    add: (keys) =>
      here.db.write(async (tx) => {
        const names = keys.map(() => crypto.randomUUID())
        for (const [at, userId] of names.entries()) {
          const type = types[keys[at] as keyof typeof types]
          await here.webhooks.emit(tx, { type, userId, data: { userId, user: {} } })
        }
        return names
      }),
    attempts: () => receiver.received.map(({ body }) => JSON.parse(body).data.userId),
    failNext: () => {
      failures = 1
    },
    change: async () => {
      const { deliveries } = await here.webhooks.deliveries.list({})
      for (const { id } of deliveries) await here.webhooks.deliveries.resend(id)
    },
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      receiver[Symbol.dispose]()
    },
  }
}
