import { expect } from 'bun:test'
import { createClock } from '../../support/app.ts'
import { createAppStore } from '../../support/app-store/app-store.ts'
import { createTestInstances, testInstances, times } from '../../support/instances.ts'

testInstances(
  'a notification on one instance and the claim on the other result in one owned purchase',
  async () => {
    const clock = createClock()
    const store = await createAppStore(clock)
    await using instances = await createTestInstances(store.environment)
    const { here, there } = instances
    clock.now = here.clock.now
    const { accessToken: token } = await here.register()
    const bought = times(20).map(() => store.buy())
    const outcomes = await Promise.all(
      bought.map(async ({ notification, signedTransaction }) => {
        const purchases = [{ store: 'app_store', signedTransaction: signedTransaction() }]
        const [delivered, submitted] = await Promise.all([
          here.ask('POST', '/api/webhooks/app-store/v1', { json: notification.body }),
          there.ask('POST', '/api/user/purchases/v1', { token, json: { purchases } }),
        ])
        return [delivered.status, submitted.json.response.results[0].outcome]
      }),
    )
    expect(outcomes).toEqual(times(20).map(() => [200, 'bound']))
    const reply = await here.ask('GET', '/api/user/subscription/v1', { token })
    const { subscriptions } = reply.json.response
    expect(subscriptions.map(({ status }: { status: string }) => status)).toEqual(
      times(20).map(() => 'active'),
    )
    const { changed } = await here.services.rebuildBilling(AbortSignal.timeout(20_000))
    expect(changed).toEqual([])
  },
  60_000,
)
