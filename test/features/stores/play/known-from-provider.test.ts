import { expect, test } from 'bun:test'
import { WEBHOOK_TOKEN } from '../../../support/app.ts'
import { signIn } from '../../../support/app-store/world.ts'
import { DAY } from '../../../support/billing.ts'
import { playProviderEvent } from '../../../support/play-store/life.ts'
import { createPlayWorld } from '../../../support/play-store/world.ts'

test('a subscription that Google described only after a renewal follows later renewals that the provider reports', async () => {
  await using world = await createPlayWorld()
  const { app, store, email, userId } = world
  const bought = store.buy({ userId })
  const startedAt = app.clock.now.getTime()
  const onDay = (day: number) => {
    app.clock.now = new Date(startedAt + day * DAY)
  }
  const deliver = async (type: string) => {
    const json = playProviderEvent(bought, type, app.clock.now.getTime(), userId)
    const reply = await app.ask('POST', '/api/webhooks/billing/v1', { token: WEBHOOK_TOKEN, json })
    expect(reply.status).toBe(200)
    return json
  }
  bought.acknowledge()
  await deliver('INITIAL_PURCHASE')
  onDay(30)
  bought.renew()
  const earlier = await deliver('RENEWAL')
  onDay(40)
  await world.submit([bought], false, await signIn(app, email))
  onDay(60)
  bought.renew()
  await deliver('RENEWAL')
  onDay(70)
  const active = [{ status: 'active', expiresAt: new Date(startedAt + 90 * DAY).toISOString() }]
  expect(await world.listSubscriptions()).toMatchObject(active)
  const { event } = earlier as { event: object }
  const json = { ...earlier, event: { ...event, id: 'again' } }
  await app.ask('POST', '/api/webhooks/billing/v1', { token: WEBHOOK_TOKEN, json })
  expect(await world.listSubscriptions()).toMatchObject(active)
})
