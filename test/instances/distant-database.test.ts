import { expect } from 'bun:test'
import { createClock, createTestApp } from '../support/app.ts'
import { deliver, lifecycle, purchase } from '../support/billing.ts'
import { createTestDatabase } from '../support/databases.ts'
import { startDelayingProxy } from '../support/delaying-proxy.ts'
import { testInstances, times } from '../support/instances.ts'

const EVENTS_PER_CUSTOMER = 12

testInstances(
  'changes of different customers do not wait for each other on a distant database',
  async () => {
    await using database = await createTestDatabase()
    using proxy = await startDelayingProxy(database.environment['DATABASE_URL'] ?? '', 1.5)
    const environment = { ...database.environment, DATABASE_URL: proxy.url, DATABASE_POOL: '24' }
    const distant = { environment, [Symbol.asyncDispose]: async () => {} }
    await using app = await createTestApp(
      {},
      { shared: { database: distant, clock: createClock() } },
    )
    const startedAt = performance.now()
    // Each delivery throws if it is refused.
    await Promise.all(times(32).map((at) => deliverAll(app, `user-${at}`)))
    const seconds = (performance.now() - startedAt) / 1000
    const rate = Math.round((32 * EVENTS_PER_CUSTOMER) / seconds)
    console.log(`${rate} events per second`)
    // A quiet machine reaches over 300; when changes waited for each other, it was 20.
    expect(rate).toBeGreaterThan(60)
  },
  60_000,
)

async function deliverAll(app: Parameters<typeof deliver>[0], user: string) {
  const own = { original_transaction_id: user, purchased_day: 0, expiration_day: 60 }
  await deliver(app, purchase(user, { ...own, transaction_id: user }))
  for (const at of times(EVENTS_PER_CUSTOMER - 1)) {
    await deliver(
      app,
      lifecycle(user, 'RENEWAL', at + 1, { ...own, transaction_id: `${user}-${at}` }),
    )
  }
}
