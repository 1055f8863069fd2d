import { expect } from 'bun:test'
import { readEvent } from '../../src/features/billing/inbox/event.ts'
import {
  assessPurchases,
  computeEntitlements,
} from '../../src/features/billing/purchases/access.ts'
import { type TestApp, WEBHOOK_TOKEN } from '../support/app.ts'
import { bodyOf, type EventFixture, ms } from '../support/billing.ts'
import { accessByModel, type LoggedEvent } from '../support/billing-model.ts'
import { createTestInstances, mapConcurrently, testInstances, times } from '../support/instances.ts'

const USERS = ['ann', 'bob', 'eve']
const IDS = [...USERS, '$anon-1', '$anon-2']
const TYPES = [
  ...['INITIAL_PURCHASE', 'RENEWAL', 'RENEWAL', 'CANCELLATION', 'UNCANCELLATION', 'EXPIRATION'],
  ...['BILLING_ISSUE', 'SUBSCRIPTION_EXTENDED', 'REFUND_REVERSED', 'PRODUCT_CHANGE', 'TRANSFER'],
]
const NOW = ms(50)
const DELIVERIES = 600

testInstances(
  '600 conflicting deliveries with transfers and merges all succeed with the right result',
  async () => {
    await using instances = await createTestInstances()
    const { balancer, both, here, clock } = instances
    clock.now = new Date(ms(200))
    const fixture = times(DELIVERIES - 30).map(randomEvent)
    const deliveries = [...fixture, ...fixture.slice(0, 30)].sort(() => Math.random() - 0.5)
    const start = performance.now()
    const durations: number[] = []
    const statuses = await mapConcurrently(deliveries, async (event) => {
      const sentAt = performance.now()
      const { status } = await balancer.ask('POST', '/api/webhooks/billing/v1', {
        token: WEBHOOK_TOKEN,
        json: bodyOf(event),
      })
      durations.push(performance.now() - sentAt)
      return status
    })
    const seconds = (performance.now() - start) / 1000
    const refused = statuses.filter((status) => status !== 200)
    console.log(
      `${Math.round(DELIVERIES / seconds)} per second, ${refused.length} refused, longest ${Math.round(Math.max(...durations))} ms`,
    )
    expect(refused).toEqual([])
    for (const { services } of both) await services.backlog.flush()
    expect((await here.services.eventSearch.countStored()).events).toBe(fixture.length)
    expect(await accessByStore(here)).toEqual(accessByModel(fixture.map(logged), USERS, NOW))
    const { changed } = await here.services.rebuildBilling(AbortSignal.timeout(20_000))
    expect(changed).toEqual([])
  },
  60_000,
)

/** A random event that is likely to conflict with others: users and purchases are few. */
function randomEvent(at: number): EventFixture {
  const type = randomOf(TYPES)
  const day = () => Math.floor(Math.random() * 60)
  if (type === 'TRANSFER') {
    return {
      id: `E-${at}`,
      type,
      at: day(),
      transferred_from: [randomOf(IDS)],
      transferred_to: [randomOf(IDS)],
    }
  }
  return {
    id: `E-${at}`,
    type,
    at: day(),
    app_user_id: randomOf(IDS),
    aliases: Math.random() < 0.02 ? [randomOf(IDS)] : [],
    environment: randomOf(['PRODUCTION', 'PRODUCTION', 'SANDBOX']),
    original_transaction_id: randomOf(['1', '2', '3', '4', '5', '6']),
    entitlement_ids: randomOf([['pro'], ['gold'], ['pro', 'gold']]),
    product_id: randomOf(['a', 'b']),
    purchased_day: day(),
    expiration_day: Math.random() < 0.1 ? null : day() + 40,
    grace_period_expiration_at_ms: randomOf([null, ms(day())]),
    cancel_reason: randomOf(['UNSUBSCRIBE', 'BILLING_ERROR', 'CUSTOMER_SUPPORT']),
  }
}

function randomOf<T>(list: T[]): T {
  return list[Math.floor(Math.random() * list.length)] as T
}

function logged(fixture: EventFixture): LoggedEvent {
  const event = readEvent(bodyOf(fixture), Buffer.from(''))
  if (!event) throw new Error('the fixture has no event')
  return { ...event, orderedAt: ms(fixture.at) }
}

async function accessByStore({ services }: TestApp): Promise<Record<string, string[]>> {
  const { db, projection } = services
  const aliases = await db.read.select().from(db.tables.billingAliases)
  const access: Record<string, string[]> = {}
  for (const user of USERS) {
    const customerId = aliases.find(({ appUserId }) => appUserId === user)?.customerId ?? user
    for (const environment of ['PRODUCTION', 'SANDBOX']) {
      const purchases = await projection.listPurchases(customerId, environment)
      const active = computeEntitlements(assessPurchases(purchases, NOW)).filter(
        ({ active }) => active,
      )
      access[`${user} ${environment}`] = active.map(({ id }) => id)
    }
  }
  return access
}

testInstances(
  'the first events of a purchase all succeed when delivered concurrently',
  async () => {
    await using instances = await createTestInstances()
    const types = ['INITIAL_PURCHASE', 'RENEWAL', 'CANCELLATION', 'RENEWAL', 'EXPIRATION']
    const fixture = times(60).flatMap((user) =>
      types.map(
        (type, at): EventFixture => ({
          id: `E-${user}-${at}`,
          type,
          at,
          app_user_id: `user-${user}`,
          original_transaction_id: `${user}`,
          entitlement_ids: ['pro'],
          purchased_day: at,
          expiration_day: at + 30,
        }),
      ),
    )
    const statuses = await mapConcurrently(fixture, async (event) => {
      const json = bodyOf(event)
      const options = { token: WEBHOOK_TOKEN, json }
      return (await instances.balancer.ask('POST', '/api/webhooks/billing/v1', options)).status
    })
    expect(statuses.filter((status) => status !== 200)).toEqual([])
  },
  60_000,
)
