import { expect, test } from 'bun:test'
import { EVENT_TYPES } from '../../../support/stripe/events.ts'
import { createLibraryWorld } from '../../../support/stripe/library.ts'
import { playLives } from '../../../support/stripe/lives.ts'

/** Lives begin without Checkout, and customers are never deleted. */
const NOT_IN_LIVES = /^(checkout\.session|customer\.deleted)/

test('random lives reach every state, and are the same for the same seed', async () => {
  const play = async (seed: number) => {
    await using world = createLibraryWorld({ account: { afterRetries: 'unpaid' } })
    const { fake } = world
    const seen = new Set<string>()
    const observe = async () => {
      for (const { status, hasAccess } of fake.truth()) seen.add(`${status} ${hasAccess}`)
    }
    await playLives(fake, { seed, count: 120, months: 18, everyDay: observe })
    return { seen, truth: fake.truth(), types: new Set(fake.events.all.map(({ type }) => type)) }
  }
  const { seen, truth, types } = await play(1)
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
  expect(missing.filter((type) => !NOT_IN_LIVES.test(type))).toEqual([])
  expect((await play(1)).truth).toEqual(truth)
})

test('the API and the expected states describe the same subscriptions', async () => {
  await using world = createLibraryWorld()
  const { fake, client } = world
  await playLives(fake, { seed: 2, count: 30, months: 6 })
  const known = new Map(fake.truth().map((truth) => [truth.item, truth]))
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
