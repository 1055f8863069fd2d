import { expect } from 'bun:test'
import { submitPurchases } from '../../../support/app-store/world.ts'
import { testInstances, times } from '../../../support/instances.ts'
import { PACKAGE_NAME } from '../../../support/play-store/formats.ts'
import {
  checkRebuild,
  countRequests,
  countsOf,
  createPlayInstances,
  drain,
  enqueue,
  playOf,
  push,
  statusesOf,
} from '../../../support/play-store/instances.ts'
import { listEvents } from '../../../support/play-store/reports.ts'

const MINUTE = 60_000
const READ = 'GET subscriptionsv2'
const ACKNOWLEDGE = 'POST acknowledge'

testInstances(
  'two instances share the queue, and each purchase is queried and acknowledged once',
  async () => {
    await using world = await createPlayInstances({ requestsPerSecond: 10 })
    const { here, there, api, store } = world
    const { user } = await here.register()
    const bought = times(60).map(() => store.buy({ userId: user._id }))
    await enqueue(here, bought)
    api.delayMs = 50
    await Promise.all([drain(here), drain(there)])
    await Promise.all([drain(here), drain(there)])
    expect(countRequests(api.purchaseRequests)).toEqual(
      countsOf(bought, { [READ]: 1, [ACKNOWLEDGE]: 1 }),
    )
    expect(api.maxParallelPerToken).toBe(1)
    // Each instance has its own access token.
    expect(api.tokensIssued).toBe(2)
    expect(await statusesOf(there, user._id)).toEqual(times(60).map(() => 'active'))
    await checkRebuild(here)
  },
  60_000,
)

testInstances(
  'a purchase that one instance is notified about is queried once, by either instance',
  async () => {
    await using world = await createPlayInstances()
    const { here, there, api, store } = world
    const { user } = await here.register()
    const bought = times(20).map(() => store.buy({ userId: user._id }))
    api.delayMs = 30
    await Promise.all(
      bought.map(async ({ notification }) => {
        await push(world, here, notification)
        await drain(there)
      }),
    )
    await Promise.all([drain(here), drain(there)])
    expect(countRequests(api.purchaseRequests)).toEqual(
      countsOf(bought, { [READ]: 1, [ACKNOWLEDGE]: 1 }),
    )
    expect(api.maxParallelPerToken).toBe(1)
    expect(await statusesOf(there, user._id)).toEqual(times(20).map(() => 'active'))
  },
  60_000,
)

testInstances(
  'an acknowledgement that failed on one instance is repeated by the other',
  async () => {
    await using world = await createPlayInstances()
    const { here, there, api, store, clock } = world
    here.expectErrors()
    const { user } = await here.register()
    const bought = store.buy({ userId: user._id })
    await enqueue(here, [bought])
    api.faults.push(null, { status: 503 })
    await drain(here)
    await drain(there)
    expect(countRequests(api.purchaseRequests)).toEqual(
      countsOf([bought], { [READ]: 1, [ACKNOWLEDGE]: 1 }),
    )
    clock.advance(MINUTE)
    await drain(there)
    expect(countRequests(api.purchaseRequests)).toEqual(
      countsOf([bought], { [READ]: 2, [ACKNOWLEDGE]: 2 }),
    )
    expect(bought.purchase.acknowledgementState).toBe('ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED')
    clock.advance(MINUTE)
    await Promise.all([drain(here), drain(there)])
    expect(api.purchaseRequests).toHaveLength(4)
  },
  60_000,
)

testInstances(
  'a claim made on one instance during an outage is settled by the queue of the other',
  async () => {
    await using world = await createPlayInstances()
    const { here, there, api, store, clock } = world
    here.expectErrors()
    const { user, accessToken } = await here.register()
    const bought = store.buy()
    api.isDown = true
    const { results } = await submitPurchases(here, accessToken, [bought.submission()])
    expect(results).toMatchObject([{ outcome: 'checking' }])
    await drain(here)
    api.isDown = false
    expect(await statusesOf(there, user._id)).toEqual([])
    clock.advance(10 * MINUTE)
    await drain(there)
    expect(await statusesOf(here, user._id)).toEqual(['active'])
    const again = await submitPurchases(there, accessToken, [bought.submission()])
    expect(again.results).toMatchObject([{ outcome: 'known' }])
    expect(api.requests.filter((request) => request === ACKNOWLEDGE)).toHaveLength(1)
  },
  60_000,
)

testInstances(
  'a notification on one instance and the claim on the other result in one owned purchase',
  async () => {
    await using world = await createPlayInstances()
    const { here, there, api, store } = world
    const { user, accessToken } = await here.register()
    const bought = times(20).map(() => store.buy())
    api.delayMs = 20
    const outcomes = await Promise.all(
      bought.map(async (one) => {
        const [, { results }] = await Promise.all([
          push(world, here, one.notification),
          submitPurchases(there, accessToken, [one.submission()]),
        ])
        return results[0]?.outcome
      }),
    )
    // A busy machine may still be querying Google when the reply is due.
    expect(outcomes.filter((outcome) => outcome !== 'bound' && outcome !== 'checking')).toEqual([])
    await Promise.all([drain(here), drain(there)])
    expect(api.maxParallelPerToken).toBe(1)
    expect(await statusesOf(here, user._id)).toEqual(times(20).map(() => 'active'))
    await checkRebuild(there)
  },
  60_000,
)

testInstances(
  'two users who submit a purchase on two instances do not both get it',
  async () => {
    await using world = await createPlayInstances()
    const { here, there, api, store } = world
    const [ann, bob] = [await here.register(), await there.register()]
    const bought = times(20).map(() => store.buy())
    api.delayMs = 20
    const outcomes = await Promise.all(
      bought.map(async (one) => {
        const replies = await Promise.all([
          submitPurchases(here, ann.accessToken, [one.submission()]),
          submitPurchases(there, bob.accessToken, [one.submission()]),
        ])
        return replies.map(({ results }) => results[0]?.code ?? results[0]?.outcome).sort()
      }),
    )
    expect(outcomes).toEqual(times(20).map(() => ['bound', 'purchase_of_another']))
    const owned = await Promise.all([ann, bob].map(({ user }) => statusesOf(here, user._id)))
    expect(owned.flat()).toEqual(times(20).map(() => 'active'))
    expect(api.maxParallelPerToken).toBe(1)
    await checkRebuild(here)
  },
  60_000,
)

testInstances(
  'an unknown token that is submitted on both instances is reported as gone immediately',
  async () => {
    await using world = await createPlayInstances()
    const { here, there, api } = world
    const { accessToken } = await here.register()
    const unknown = {
      store: 'play_store',
      packageName: PACKAGE_NAME,
      purchaseToken: 'a-token-that-does-not-exist',
    }
    api.delayMs = 50
    const start = performance.now()
    const replies = await Promise.all(
      [here, there].map((app) => submitPurchases(app, accessToken, [unknown])),
    )
    for (const { results } of replies) expect(results).toMatchObject([{ code: 'purchase_gone' }])
    expect(performance.now() - start).toBeLessThan(4_000)
  },
  60_000,
)

testInstances(
  'refunds that one instance is notified about while the other lists them are recorded once',
  async () => {
    await using world = await createPlayInstances()
    const { here, there, store, clock } = world
    const { user } = await here.register()
    const bought = times(20).map(() => store.buy({ userId: user._id }))
    await enqueue(here, bought)
    await drain(here)
    clock.advance(MINUTE)
    const notifications = bought.flatMap((one) => one.refund())
    clock.advance(MINUTE)
    const [listed] = await Promise.all([
      playOf(there).voided.catchUp(),
      playOf(here).voided.catchUp(),
      ...notifications.map((notification) => push(world, here, notification)),
    ])
    expect(listed).toBe(20)
    await Promise.all([drain(here), drain(there)])
    const events = await listEvents({ app: there })
    expect(events.filter(({ type }) => type === 'REFUND')).toHaveLength(20)
    expect(events.filter(({ outcome }) => outcome === 'failed')).toEqual([])
    expect(await statusesOf(here, user._id)).toEqual(times(20).map(() => 'refunded'))
    await checkRebuild(there)
  },
  60_000,
)
