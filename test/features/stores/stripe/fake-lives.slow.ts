import { expect, test } from 'bun:test'
import { EVENT_TYPES } from '../../../support/stripe/events.ts'
import { createLibraryWorld } from '../../../support/stripe/library.ts'
import { runRandomHistories } from '../../../support/stripe/lives.ts'

/** These histories begin without Checkout, and no customer is deleted. */
const NEVER_SENT = /^(checkout\.session|customer\.deleted)/

test('random histories reach every state, and are the same for the same seed', async () => {
  const simulate = async (seed: number) => {
    await using world = createLibraryWorld({ account: { afterRetries: 'unpaid' } })
    const { fake } = world
    const seen = new Set<string>()
    const observe = async () => {
      for (const { status, hasAccess } of fake.expectedStates()) seen.add(`${status} ${hasAccess}`)
    }
    await runRandomHistories(fake, { seed, count: 120, months: 18, everyDay: observe })
    return {
      seen,
      states: fake.expectedStates(),
      types: new Set(fake.events.all.map(({ type }) => type)),
    }
  }
  const { seen, states, types } = await simulate(1)
  expect([...seen].toSorted()).toEqual([
    'active false',
    'active true',
    'canceled false',
    'past_due false',
    'past_due true',
    'paused false',
    'trialing true',
    'unpaid false',
  ])
  const missing = EVENT_TYPES.filter((type) => !types.has(type))
  expect(missing.filter((type) => !NEVER_SENT.test(type))).toEqual([])
  expect((await simulate(1)).states).toEqual(states)
})

test('the API and the expected states describe the same subscriptions', async () => {
  await using world = createLibraryWorld()
  const { fake, client } = world
  await runRandomHistories(fake, { seed: 2, count: 30, months: 6 })
  const known = new Map(fake.expectedStates().map((state) => [state.item, state]))
  let items = 0
  for await (const { id, status, items: listed } of client.subscriptions.list({ status: 'all' })) {
    for (const item of listed.data) {
      items++
      const { price, quantity } = item
      const expected = { subscription: id, status, price: price.id, quantity }
      expect(known.get(item.id)).toMatchObject(expected as object)
    }
  }
  expect(items).toBeGreaterThan(30)
})
