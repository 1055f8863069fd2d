import { expect, test } from 'bun:test'
import { createPlayWorld } from '../../support/play-store/world.ts'

test('a user waits at most five seconds for Google', async () => {
  await using world = await createPlayWorld()
  const { api, store } = world
  api.delayMs = 6_000
  const startedAt = performance.now()
  const { results } = await world.submit([store.buy(), store.buy()])
  expect(results).toMatchObject([{ outcome: 'checking' }, { outcome: 'checking' }])
  expect(performance.now() - startedAt).toBeLessThan(6_500)
  api.delayMs = 0
}, 20_000)
